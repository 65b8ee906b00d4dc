-- How reports and collect_from_jobs read the user's own table of jobs: with the
-- caller's rights, whatever its columns are called, and of several types. Not
-- parallel: a text that is no time is caught in a subtransaction.

CREATE FUNCTION perfmodel.job_column(jobs regclass, name text, meaning text, kind text) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    type oid := (SELECT a.atttypid FROM pg_attribute AS a WHERE a.attrelid = jobs AND a.attname = job_column.name AND NOT a.attisdropped);
    declared CONSTANT text := format_type(type, NULL);
    -- exactly this type, whatever the table has: a session that has made one report keeps plans, which take no other
    wanted CONSTANT text := CASE kind WHEN 'time' THEN 'timestamptz' WHEN 'number' THEN 'float8' ELSE kind END;
    casting CONSTANT text := CASE WHEN type = wanted::regtype THEN '' ELSE '::' || wanted END;
    base oid;
    present text[];
    value text := quote_ident(name);
    wrong text;
BEGIN
    IF type IS NULL THEN
        present := ARRAY(SELECT a.attname FROM pg_attribute AS a WHERE a.attrelid = jobs AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum);
        RAISE EXCEPTION 'table % has no column %', jobs, coalesce(quote_ident(left(name, 64)), 'NULL') USING ERRCODE = 'undefined_column',
            DETAIL = format('It has %s.', coalesce(nullif(array_to_string(present[1:20], ', '), ''), 'no columns') || CASE WHEN cardinality(present) > 20 THEN ', ...' ELSE '' END);
    END IF;
    LOOP -- a domain is what it is over
        SELECT t.typbasetype INTO base FROM pg_type AS t WHERE t.oid = type AND t.typtype = 'd';
        EXIT WHEN NOT FOUND;
        type := base;
    END LOOP;
    IF kind = 'text' OR kind = 'time' AND type IN ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype) THEN
        RETURN value || casting;
    ELSIF kind = 'time' AND (SELECT t.typcategory FROM pg_type AS t WHERE t.oid = type) = 'S' THEN
        value := format(E'CASE WHEN btrim(%1$s::text, E'' \\t\\n\\r\\f\\x0B'') <> '''' THEN %1$s::text::timestamptz END', value);
        BEGIN -- as refuse_text() in job_table.c says it of a queue
            EXECUTE format('SELECT count(%s) FROM %s', value, jobs);
        EXCEPTION WHEN data_exception THEN
            RAISE EXCEPTION 'column "%" of table % must hold times', name, jobs
                USING ERRCODE = 'datatype_mismatch', DETAIL = format('It is read as "%s" of the jobs; its type is %s. One value: %s.', meaning, declared, SQLERRM),
                      HINT = format('Text is accepted where every value is one of these times, or empty. Make a view that converts the others, such as nullif(%s, ''N/A''), or leaves them out, and give the view instead of the table.', quote_ident(name));
        END;
        RETURN value;
    ELSIF kind = 'time' THEN
        RAISE EXCEPTION 'column "%" of table % must be a time, not %', name, jobs, declared
            USING ERRCODE = 'datatype_mismatch', DETAIL = format('It is read as "%s" of the jobs.', meaning),
                  HINT = format('Convert it in a view, such as SELECT to_timestamp(seconds) AS %s, and give the view instead of the table.', quote_ident(meaning));
    ELSIF type = 'interval'::regtype AND right(meaning, 2) = '_s' THEN
        RETURN format('extract(epoch FROM %s)::float8', value);
    ELSIF (SELECT t.typcategory FROM pg_type AS t WHERE t.oid = type) = 'S' THEN
        EXECUTE format($query$SELECT %1$s FROM %2$s WHERE btrim(%1$s, E' \t\n\r\f\x0B') !~ '^([-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]{1,2})?)?$' LIMIT 1$query$, value || '::text', jobs) INTO wrong;
        IF wrong IS NOT NULL THEN
            RAISE EXCEPTION 'column "%" of table % must hold numbers, but one value is "%"', name, jobs, left(wrong, 64)
                USING ERRCODE = 'datatype_mismatch', DETAIL = format('It is read as "%s" of the jobs; its type is %s.', meaning, declared),
                      HINT = format('Text is accepted where every value is a number or empty. Make a view that converts the others, such as nullif(%s, ''N/A''), or leaves them out%s, and give the view instead of the table.',
                                quote_ident(name), CASE WHEN right(meaning, 2) = '_s' THEN ' (a duration may be an interval, such as ''1 02:03:04''::interval)' END);
        END IF;
        value := format(E'nullif(btrim(%s::text, E'' \\t\\n\\r\\f\\x0B''), '''')::numeric', value);
        type := 'numeric'::regtype;
    ELSIF type NOT IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype, 'real'::regtype, 'float8'::regtype, 'numeric'::regtype) THEN
        RAISE EXCEPTION 'column "%" of table % must be a number, not %', name, jobs, declared
            USING ERRCODE = 'datatype_mismatch', DETAIL = format('It is read as "%s" of the jobs.', meaning),
                  HINT = 'Name another column in the argument "columns", or convert it in a view and give the view instead of the table.';
    END IF;
    -- a number is float8: of integers, a part of an hour would be no hour
    RETURN CASE WHEN kind = 'number' OR type IN ('smallint'::regtype, 'integer'::regtype) OR type = 'bigint'::regtype AND kind = 'bigint' THEN value || casting
                -- what is no whole number is 0, which no graph, batch or number of devices is: NULL would be read as what is usual
                ELSE format('CASE WHEN %1$s BETWEEN %2$s AND %3$s AND %1$s = trunc(%1$s) THEN %1$s::%4$s WHEN %1$s IS NOT NULL THEN 0 END',
                            value, CASE kind WHEN 'bigint' THEN '-9e15' ELSE '-2e9' END, CASE kind WHEN 'bigint' THEN '9e15' ELSE '2e9' END, kind) END;
END $$;
COMMENT ON FUNCTION perfmodel.job_column(regclass, text, text, text) IS
    'SQL that reads a column of a table of jobs as text, time, number, integer or bigint (0: no whole number)';

-- In its own type, if that is one of times: an index on the column serves.
CREATE FUNCTION perfmodel.job_time(jobs regclass, name text, meaning text) RETURNS text
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE WHEN t.typcategory = 'S' THEN perfmodel.job_column(job_time.jobs, job_time.name, job_time.meaning, 'time') ELSE quote_ident(job_time.name) END
    FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid WHERE a.attrelid = job_time.jobs AND a.attname = job_time.name AND NOT a.attisdropped;
END;
COMMENT ON FUNCTION perfmodel.job_time(regclass, text, text) IS 'SQL of a time by which jobs are chosen: the column, or if it is text, what job_column() makes of it';

-- The SQL that reads each column, as what it means.
CREATE FUNCTION perfmodel.job_columns(jobs regclass, columns jsonb, wanted text[], otherwise text[], page text) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    present text[];
    -- what other functions ask for is left alone, so that one object does for all of them
    elsewhere CONSTANT text[] := '{job_id,team,graph,graph_id,gpu,gpu_count,batch,dtype,layout,framework,optimizer,cluster,weight,noise_scale,steps,done_steps,duration_s,duration_p90_s,
                                   submitted_at,started_at,finished_at,deadline,nodes,restarts}';
    names CONSTANT text[] := '{graph,gpu,dtype,layout,framework,optimizer}';
    column_name text;
    kind text;
    value text;
    list text;
    lacking text[];
    example text[];
    strange text;
    source text;
    no_network boolean;
    counted boolean;
    -- where only one of the two is named, the other is not read: pm_job_table_open() in job_table.c has the same rule
    unread CONSTANT text := CASE WHEN columns ->> 'graph' IS NOT NULL AND NOT columns ? 'graph_id' THEN 'graph_id'
                                 WHEN columns ->> 'graph_id' IS NOT NULL AND NOT columns ? 'graph' THEN 'graph' END;
BEGIN
    IF jobs IS NULL THEN
        RAISE EXCEPTION '"jobs" must be given' USING ERRCODE = 'null_value_not_allowed',
            DETAIL = 'It is the table, view or foreign table that has a row for each job.', HINT = 'For example: jobs => ''public.job''.';
    ELSIF (SELECT c.relkind FROM pg_class AS c WHERE c.oid = jobs) NOT IN ('r', 'v', 'm', 'f', 'p') THEN
        RAISE EXCEPTION '"%" is not a table or view', jobs USING ERRCODE = 'wrong_object_type',
            HINT = 'The argument "jobs" is a table, a view or a foreign table with a row for each job.';
    ELSIF jsonb_typeof(columns) <> 'object' THEN
        RAISE EXCEPTION 'columns must be an object' USING ERRCODE = 'invalid_parameter_value',
            DETAIL = 'A key says what a column of the table means; its value is the name of the column.',
            HINT = 'For example: columns => ''{"graph": "network", "gpu": "device"}''.';
    END IF;
    source := jobs::text;
    -- a lock, so that nobody drops the table while it is read: a regclass is a number
    IF source !~ '^([0-9]+|-)$' THEN
        EXECUTE format('SELECT FROM %s LIMIT 0', source);
    END IF;
    IF jobs::text ~ '^([0-9]+|-)$' THEN -- it is gone, or 0: a name of digits has quotes
        RAISE EXCEPTION 'there is no table with OID %', jobs::oid USING ERRCODE = 'undefined_table', HINT = 'It was dropped meanwhile, or made anew under the same name: ask again.';
    END IF;
    present := ARRAY(SELECT a.attname FROM pg_attribute AS a WHERE a.attrelid = jobs AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum);
    strange := (SELECT min(k) FROM jsonb_object_keys(columns) AS k WHERE k <> ALL (wanted || elsewhere));
    no_network := NOT EXISTS (SELECT FROM unnest('{graph_id,graph}'::text[]) AS k WHERE CASE WHEN columns ? k THEN columns ->> k ELSE k END = ANY (present));
    IF strange IS NOT NULL THEN
        RAISE EXCEPTION 'unknown key "%" in the argument "columns"', left(strange, 64)
            USING ERRCODE = 'invalid_parameter_value', DETAIL = 'A key says what a column of the table means; its value is the name of the column.',
                  -- job_ran() reads two columns besides, where not all jobs must have ended
                  HINT = format('Known keys are %s.', array_to_string(wanted || CASE WHEN 'finished_at' = ANY (wanted) THEN '{}' ELSE '{finished_at,started_at}'::text[] END, ', '));
    END IF;
    FOR i IN 1 .. cardinality(wanted) LOOP
        column_name := CASE WHEN columns ? wanted[i] THEN columns ->> wanted[i] ELSE wanted[i] END;
        kind := CASE WHEN wanted[i] = 'graph_id' THEN 'bigint' WHEN wanted[i] IN ('batch', 'gpu_count', 'nodes') THEN 'integer'
                     WHEN wanted[i] IN ('duration_s', 'steps', 'done_steps', 'restarts') THEN 'number' WHEN right(wanted[i], 3) = '_at' THEN 'time' ELSE 'text' END;
        IF column_name = ANY (present) AND wanted[i] IS DISTINCT FROM unread THEN
            value := perfmodel.job_column(jobs, column_name, wanted[i], kind);
            IF wanted[i] = ANY (names) THEN
                value := format(E'CASE WHEN btrim(%1$s, E'' \\t\\n\\r\\f\\x0B'') <> '''' THEN %1$s END', value);
            END IF;
            -- a row that does not say is read as a table that does not
            IF otherwise[i] NOT LIKE 'NULL%' AND wanted[i] <> 'team' THEN
                value := format('coalesce(%s, %s)', value, otherwise[i]);
            END IF;
            list := concat_ws(', ', list, value || CASE WHEN value = wanted[i] THEN '' ELSE ' AS ' || wanted[i] END);
            -- Slurm writes the number of devices behind their name
            IF wanted[i] = 'gpu' AND 'gpu_count' = ANY (wanted) THEN
                EXECUTE format('SELECT EXISTS (SELECT FROM (SELECT DISTINCT %s AS gpu FROM %s) AS j WHERE perfmodel.gres_count(j.gpu) > 1)', value, jobs) INTO counted;
                IF counted THEN
                    otherwise[array_position(wanted, 'gpu_count')] := format('coalesce(perfmodel.gres_count(%s), 1)', value);
                END IF;
            END IF;
        ELSIF otherwise[i] IS NULL OR columns ->> wanted[i] IS NOT NULL OR wanted[i] = 'graph' AND no_network THEN
            lacking := lacking || quote_ident(coalesce(column_name, wanted[i]));
            example := example || format('"%s": "NAME"', wanted[i]);
        ELSE
            list := concat_ws(', ', list, otherwise[i] || ' AS ' || wanted[i]);
        END IF;
    END LOOP;
    IF lacking IS NOT NULL THEN
        RAISE EXCEPTION 'table % has no % %', jobs, CASE cardinality(lacking) WHEN 1 THEN 'column' ELSE 'columns' END, array_to_string(lacking, ', ')
            USING ERRCODE = 'undefined_column', DETAIL = format('It has %s.', coalesce(nullif(array_to_string(present[1:20], ', '), ''), 'no columns') || CASE WHEN cardinality(present) > 20 THEN ', ...' ELSE '' END),
                  HINT = format('Say which columns of yours are meant, in place of NAME: columns => ''{%s}''; %s says what each must hold.', array_to_string(example, ', '), page);
    END IF;
    RETURN list;
END $$;
COMMENT ON FUNCTION perfmodel.job_columns(regclass, jsonb, text[], text[], text) IS
    'select list for a table of jobs: the wanted columns under their own names; otherwise[i] NULL: column i is required';

-- A table may be history and queue in one.
CREATE FUNCTION perfmodel.job_ran(jobs regclass, columns jsonb DEFAULT '{}') RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c record;
    conditions text;
BEGIN
    FOR c IN SELECT m.meaning, left(columns ->> m.meaning, 64) AS name FROM unnest('{finished_at,started_at}'::text[]) AS m(meaning)
             WHERE columns ->> m.meaning <> ALL (ARRAY(SELECT a.attname FROM pg_attribute AS a WHERE a.attrelid = jobs AND a.attnum > 0 AND NOT a.attisdropped)) LOOP
        RAISE EXCEPTION 'table % has no column %', jobs, quote_ident(c.name) USING ERRCODE = 'undefined_column',
            DETAIL = format('The argument "columns" names it as "%s".', c.meaning),
            HINT = format('Name the column that says when jobs %s, or say that there is none: columns => ''{"%s": null}''.',
                          CASE c.meaning WHEN 'finished_at' THEN 'ended' ELSE 'began' END, c.meaning);
    END LOOP;
    FOR c IN SELECT m.meaning, a.attname AS name, format_type(a.atttypid, NULL) AS declared, b.type, b.category
             FROM unnest('{finished_at,started_at,duration_s}'::text[]) WITH ORDINALITY AS m(meaning, nth)
                  JOIN pg_attribute AS a ON a.attrelid = jobs AND a.attnum > 0 AND NOT a.attisdropped
                       AND a.attname = CASE WHEN columns ? m.meaning THEN columns ->> m.meaning ELSE m.meaning END,
                  -- a domain is what it is over
                  LATERAL (WITH RECURSIVE over AS (SELECT t.* FROM pg_type AS t WHERE t.oid = a.atttypid
                                                   UNION ALL SELECT t.* FROM over AS d JOIN pg_type AS t ON t.oid = d.typbasetype WHERE d.typtype = 'd')
                           SELECT d.oid AS type, d.typcategory AS category FROM over AS d WHERE d.typtype <> 'd') AS b
             ORDER BY m.nth LOOP
        -- others of this category, such as money, cannot be compared with a number
        IF c.category = 'N' AND c.meaning <> 'duration_s' AND c.type NOT IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype, 'real'::regtype, 'float8'::regtype, 'numeric'::regtype) THEN
            RAISE EXCEPTION 'column "%" of table % must be a time or a number, not %', c.name, jobs, c.declared
                USING ERRCODE = 'datatype_mismatch', DETAIL = format('It is read as "%s" of the jobs.', c.meaning),
                      HINT = format('Name another column in the argument "columns", or say that there is none: columns => ''{"%s": null}''.', c.meaning);
        END IF;
        conditions := concat_ws(' AND ', conditions, CASE WHEN c.type IN ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype) THEN format('isfinite(%I)', c.name)
                                                          -- seconds since 1970, 0 or NaN where there is no end; words such as Unknown
                                                          WHEN c.category = 'N' AND c.meaning <> 'duration_s' THEN format('%1$I > 0 AND %1$I::text <> ''NaN''', c.name)
                                                          WHEN c.category = 'S' AND c.meaning <> 'duration_s' THEN format('%I::text ~ ''[0-9]''', c.name)
                                                          ELSE format('%I IS NOT NULL', c.name) END);
        EXIT WHEN c.meaning = 'finished_at';
    END LOOP;
    RETURN coalesce(conditions, 'true');
END $$;
COMMENT ON FUNCTION perfmodel.job_ran(regclass, jsonb) IS
    'SQL condition for jobs that ran: with an end, or, in a table without ends, with a start and a duration';

-- Prices are those of that time. A start that is no time and no number of seconds is not read: a text may be anything.
CREATE FUNCTION perfmodel.job_ran_at(jobs regclass, columns jsonb DEFAULT '{}') RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    submitted CONSTANT text := perfmodel.job_column(jobs, coalesce(columns ->> 'submitted_at', 'submitted_at'), 'submitted_at', 'time');
    started text;
    type oid;
    base oid;
BEGIN
    SELECT quote_ident(a.attname), a.atttypid INTO started, type FROM pg_attribute AS a
    WHERE a.attrelid = jobs AND a.attnum > 0 AND NOT a.attisdropped
      AND a.attname = CASE WHEN columns ? 'started_at' THEN columns ->> 'started_at' ELSE 'started_at' END;
    LOOP -- a domain is what it is over
        SELECT t.typbasetype INTO base FROM pg_type AS t WHERE t.oid = type AND t.typtype = 'd';
        EXIT WHEN NOT FOUND;
        type := base;
    END LOOP;
    IF type IN ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype) THEN
        RETURN format('CASE WHEN %1$s BETWEEN ''0001-01-01'' AND ''9999-12-31'' THEN %1$s::timestamptz ELSE %2$s END', started, submitted);
    ELSIF type IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype, 'real'::regtype, 'float8'::regtype, 'numeric'::regtype) THEN
        RETURN format('CASE WHEN %1$s > 0 AND %1$s < 253370764800 THEN to_timestamp(%1$s::float8) ELSE %2$s END', started, submitted);
    END IF;
    RETURN submitted;
END $$;
COMMENT ON FUNCTION perfmodel.job_ran_at(regclass, jsonb) IS
    'SQL of the time by which a job is priced: its start, or where that is not known, when it was submitted';

-- Times are written into the query: other styles than ISO have abbreviations of time zones, which may be read as another zone.
CREATE FUNCTION perfmodel.report_jobs(jobs regclass, columns jsonb DEFAULT '{}', from_time timestamptz DEFAULT NULL, to_time timestamptz DEFAULT NULL,
                                      ran boolean DEFAULT true) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' AS $$
DECLARE
    wanted CONSTANT text[] := '{submitted_at,duration_s,gpu,batch,graph_id,graph,team,gpu_count,dtype,layout,framework}';
    -- of columns that the table may lack; NULL: it must have them
    otherwise CONSTANT text[] := ARRAY[NULL, NULL, NULL, NULL, 'NULL::bigint', 'NULL::text', '''all''', '1', '''fp32''', '''nchw''', 'NULL::text'];
    parts CONSTANT text := perfmodel.job_columns(jobs, columns, wanted, otherwise, 'docs/report.md');
    submitted CONSTANT text := perfmodel.job_time(jobs, coalesce(columns ->> 'submitted_at', 'submitted_at'), 'submitted_at');
    present CONSTANT text[] := ARRAY(SELECT a.attname FROM pg_attribute AS a WHERE a.attrelid = jobs AND NOT a.attisdropped AND a.attname IN ('graph', 'graph_id'));
    has_ids CONSTANT boolean := columns ->> 'graph_id' IS NOT NULL OR (columns ? 'graph_id') IS NOT TRUE AND 'graph_id' = ANY (present) AND columns ->> 'graph' IS NULL;
    by_name CONSTANT boolean := columns ->> 'graph' IS NOT NULL OR (columns ? 'graph') IS NOT TRUE AND 'graph' = ANY (present) AND columns ->> 'graph_id' IS NULL;
    by_alias CONSTANT boolean := EXISTS (SELECT FROM perfmodel.name_alias AS a WHERE a.kind IN ('gpu', 'dtype'));
    by_spelling boolean;
    card text := 'j.gpu';
    source text;
BEGIN
    source := format(E'SELECT %s, %s AS ran_at\nFROM %s\nWHERE isfinite(%s) AND %s', parts, perfmodel.job_ran_at(jobs, columns), jobs, submitted, format(CASE WHEN ran THEN '%s' ELSE '(%s) IS NOT TRUE' END, perfmodel.job_ran(jobs, columns)))
        || CASE WHEN from_time IS NULL THEN '' ELSE format(' AND %s >= %L', submitted, from_time) END
        || CASE WHEN to_time IS NULL THEN '' ELSE format(' AND %s < %L', submitted, to_time) END;
    IF NOT ran THEN
        RETURN source;
    END IF;
    -- one card in two spellings is one kind of GPU
    EXECUTE format('SELECT EXISTS (SELECT FROM (SELECT DISTINCT j.gpu FROM (%s) AS j) AS k WHERE perfmodel.find_gpu(k.gpu) <> k.gpu)', source) INTO by_spelling;
    IF NOT by_name AND NOT by_alias AND NOT by_spelling THEN
        RETURN source;
    END IF;
    IF by_alias THEN
        card := 'CASE WHEN g.name IS NOT NULL AND perfmodel.find_gpu(j.gpu) IS DISTINCT FROM j.gpu THEN g.name ELSE j.gpu END';
    END IF;
    IF by_alias OR by_spelling THEN
        card := format('coalesce(perfmodel.find_gpu(%s), j.gpu)', card);
    END IF;
    -- names as resolve_job_names() reads them: what is called so itself, then perfmodel.name_alias, then other spellings
    RETURN format(E'SELECT j.submitted_at, j.duration_s, %s AS gpu, j.batch, %s AS graph_id, j.team, j.gpu_count, %s AS dtype, j.layout, j.framework, j.ran_at\nFROM (%s) AS j',
                  card, CASE WHEN by_name AND has_ids THEN 'coalesce(j.graph_id, n.graph_id)' WHEN by_name THEN 'n.graph_id' ELSE 'j.graph_id' END,
                  CASE WHEN by_alias THEN 'CASE WHEN d.name IS NOT NULL AND perfmodel.find_dtype(j.dtype) IS DISTINCT FROM j.dtype THEN d.name ELSE j.dtype END' ELSE 'j.dtype' END, source)
        || CASE WHEN NOT by_name THEN ''
                ELSE format(E'\nLEFT JOIN perfmodel.resolve_job_names(ARRAY(SELECT DISTINCT %I::text FROM %s), NULL, NULL, 1) AS n ON n.given = j.graph',
                            coalesce(columns ->> 'graph', 'graph'), jobs) END
        || CASE WHEN NOT by_alias THEN ''
                ELSE E'\nLEFT JOIN perfmodel.name_alias AS g ON g.kind = ''gpu'' AND g.alias = j.gpu\nLEFT JOIN perfmodel.name_alias AS d ON d.kind = ''dtype'' AND d.alias = j.dtype' END;
END $$;
COMMENT ON FUNCTION perfmodel.report_jobs(regclass, jsonb, timestamptz, timestamptz, boolean) IS
    'the query by which reports read the jobs that ran; with ran => false: all others, with names as they are';
