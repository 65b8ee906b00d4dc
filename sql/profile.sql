-- Measurements by INSERT and COPY; bad ones are refused by name.
\pset format unaligned
INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms) VALUES (perfmodel.graph_id('tiny@8'), 'T4', 8, 1.5)
RETURNING gpu, batch, dtype, layout, mode, optimizer, world_size, nodes, step_ms;
-- an alias becomes the name
INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms) VALUES (perfmodel.graph_id('tiny@8'), 'nvidia_geforce_rtx_3090', 8, 1)
RETURNING gpu;
SELECT perfmodel.graph_id('tiny@8') AS id \gset

-- by COPY (the graph is the first one of this database)
SELECT :id = 1 AS first;
COPY perfmodel.profile (graph_id, gpu, batch, dtype, step_ms) FROM stdin WITH (FORMAT csv);
1,Tesla_T4,16,amp,2.5
1,NVIDIA H200,32,bf16,0.25
\.
COPY perfmodel.profile (graph_id, gpu, batch, dtype, step_ms) FROM stdin WITH (FORMAT csv);
1,T4,16,amp,2.5
1,T5,16,amp,2.5
\.
SELECT gpu, batch, dtype, step_ms FROM perfmodel.profile ORDER BY profile_id;
UPDATE perfmodel.profile SET gpu = 'tesla p4' WHERE batch = 16 RETURNING gpu;

CREATE FUNCTION helper.bad_profile(change text) RETURNS text LANGUAGE sql AS $$
    SELECT helper.error_of(format('INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, layout, mode, optimizer,'
        ' world_size, nodes, step_ms, forward_ms, backward_ms, peak_memory_mb, spread)'
        ' SELECT graph_id, gpu, batch, dtype, layout, mode, optimizer, world_size, nodes, step_ms, forward_ms, backward_ms,'
        ' peak_memory_mb, spread FROM json_populate_record(%L::perfmodel.profile, %L)',
        (SELECT p FROM perfmodel.profile p ORDER BY profile_id LIMIT 1), change)) $$;
SELECT regexp_replace(regexp_replace(helper.bad_profile(c), 'detail: Failing row[^\n]*', 'detail: (the row)'), ' +$', '')
FROM unnest(ARRAY['{"gpu":"RTX 3091"}', '{"gpu":null}', '{"graph_id":-1}', '{"batch":0}', '{"batch":16777217}', '{"batch":-4}', '{"step_ms":0}',
    '{"step_ms":-1}', '{"step_ms":"NaN"}', '{"step_ms":"Infinity"}', '{"step_ms":null}', '{"step_ms":1e-300}', '{"step_ms":1e308}', '{"forward_ms":1e300}', '{"dtype":"fp8"}',
    '{"layout":"chw"}', '{"mode":"test"}', '{"optimizer":"lion"}', '{"world_size":0}', '{"nodes":0}',
    '{"forward_ms":-1}', '{"backward_ms":"NaN"}', '{"peak_memory_mb":-1}', '{"spread":"NaN"}']) AS c;
SELECT regexp_replace(helper.error_of(format('INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms, fits_batch, oom_batch) VALUES (%s, ''T4'', 8, 1, %s)', :id, o)), 'detail: Failing row[^\n]*', 'detail: (the row)')
FROM unnest('{"NULL, 8","16, 16","0, NULL","NULL, 16777217"}'::text[]) AS o;
SELECT count(*) FROM perfmodel.profile;
-- the trigger has the bounds of the checks: just within them a row is taken, just beyond them the trigger says so, and without it the check
BEGIN;
CREATE FUNCTION pg_temp.constraint_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c text; BEGIN EXECUTE statement; RAISE SQLSTATE 'OK000'; EXCEPTION WHEN SQLSTATE 'OK000' THEN RETURN 'taken'; WHEN OTHERS THEN GET STACKED DIAGNOSTICS c = CONSTRAINT_NAME; RETURN c || CASE WHEN SQLERRM ~ 'must be (0 or )?between' THEN ' explained' ELSE '' END; END $$;
INSERT INTO perfmodel.op_profile (operator, gpu, batch, forward_ms) SELECT doc, 'T4', 8, 1 FROM (SELECT jsonb_build_object('format', 'perfmodel-graph/1', 'name', 'relu', 'input', '[1,4]'::jsonb, 'nodes',
    '[{"id":0,"op":"Input","inputs":[],"shape":[1,4],"batch_dim":0},{"id":1,"op":"Relu","inputs":[0],"shape":[1,4],"batch_dim":0}]'::jsonb) AS doc) AS d;
CREATE TEMP TABLE bound AS
SELECT c.conrelid::regclass AS tab, a.attname AS col, a.atttypid = 'integer'::regtype AS is_integer, c.conname, m[1] AS low, m[2] AS high
FROM pg_constraint AS c JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey),
     regexp_match(regexp_replace(pg_get_constraintdef(c.oid), '[()'']|::double precision', '', 'g'), ' >= ([-+.0-9e]+) AND .* <= ([-+.0-9e]+)') AS m
WHERE c.contype = 'c' AND c.conrelid IN ('perfmodel.profile'::regclass, 'perfmodel.op_profile'::regclass, 'perfmodel.gpu'::regclass, 'perfmodel.cluster'::regclass, 'perfmodel.interconnect'::regclass,
    'perfmodel.convergence'::regclass, 'perfmodel.carbon_intensity'::regclass) AND m IS NOT NULL AND a.atttypid <> 'float8[]'::regtype;
INSERT INTO perfmodel.convergence (graph_id, batch) SELECT min(graph_id), 8 FROM perfmodel.graph;
-- what is just within the bounds may be odd beside the other figures of its row
SET LOCAL client_min_messages = warning;
SELECT count(*) AS bounds FROM bound;
CREATE FUNCTION pg_temp.outcomes() RETURNS TABLE (outcome text, is_end boolean, n bigint) LANGUAGE sql AS $$
    SELECT replace(pg_temp.constraint_of(format('UPDATE %s SET %I = %s WHERE ctid = (SELECT min(ctid) FROM %1$s)', b.tab, b.col, quote_literal(v.value))), b.conname, 'its check'), v.is_end, count(*)
    FROM bound AS b, LATERAL (VALUES (b.low, true), (b.high, true), (CASE WHEN b.is_integer THEN (b.low::float8 - 1)::text ELSE (b.low::float8 * (1 - 1e-9) - 1e-12)::text END, false),
        (CASE WHEN b.is_integer THEN (b.high::float8 + 1)::text ELSE (b.high::float8 * (1 + 1e-9))::text END, false), (CASE WHEN NOT b.is_integer THEN 'NaN' END, false)) AS v(value, is_end)
    WHERE v.value IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2 $$;
SELECT * FROM pg_temp.outcomes();
ALTER TABLE perfmodel.profile DISABLE TRIGGER profile_check_numbers;
ALTER TABLE perfmodel.op_profile DISABLE TRIGGER op_profile_check_numbers;
ALTER TABLE perfmodel.gpu DISABLE TRIGGER gpu_check_numbers;
ALTER TABLE perfmodel.cluster DISABLE TRIGGER cluster_check_numbers;
ALTER TABLE perfmodel.interconnect DISABLE TRIGGER interconnect_check_numbers;
ALTER TABLE perfmodel.convergence DISABLE TRIGGER convergence_check_numbers;
ALTER TABLE perfmodel.carbon_intensity DISABLE TRIGGER carbon_intensity_check_numbers;
SELECT * FROM pg_temp.outcomes();
ROLLBACK;
-- constraints and the library know the same words
SELECT helper.bad_profile(format('{"dtype":"%s"}', d)) FROM unnest('{fp32,tf32,amp,bf16,fp16}'::text[]) AS d;
SELECT helper.bad_profile(format('{"layout":"%s"}', l)) FROM unnest('{nchw,nhwc}'::text[]) AS l;
SELECT helper.bad_profile(format('{"optimizer":"%s"}', o)) FROM unnest('{sgd,sgd_momentum,adam,adamw,none,other}'::text[]) AS o;

-- a graph or a device stays while there are measurements of it; a device may be renamed
SELECT regexp_replace(helper.error_of(format('DELETE FROM perfmodel.graph WHERE graph_id = %s', :id)), '\(\d+\)', '(id)');
SELECT helper.error_of($$DELETE FROM perfmodel.gpu WHERE name = 'T4'$$);
BEGIN;
UPDATE perfmodel.gpu SET name = 'Turing T4' WHERE name = 'T4';
SELECT count(*) > 0 AS renamed, count(*) FILTER (WHERE gpu = 'T4') AS left FROM perfmodel.profile WHERE gpu IN ('Turing T4', 'T4');
ROLLBACK;
DELETE FROM perfmodel.profile;

-- words of other programs are stored as perfmodel writes them
BEGIN;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, layout, optimizer, step_ms)
SELECT graph_id, 'T4', 8, dtype, layout, optimizer, 1 FROM (SELECT min(graph_id) AS graph_id FROM perfmodel.graph) AS g,
     (VALUES ('float16', 'channels_last', 'AdamW'), ('FP32', 'NCHW', 'SGD'), ('bfloat16', 'nhwc', 'none')) AS w(dtype, layout, optimizer)
RETURNING dtype, layout, optimizer;
UPDATE perfmodel.profile SET dtype = 'HALF' WHERE profile_id = (SELECT max(profile_id) FROM perfmodel.profile) RETURNING dtype, optimizer;
ROLLBACK;
-- the trigger function is for columns of type text
BEGIN;
CREATE TEMP TABLE y (dtype int);
CREATE TRIGGER t BEFORE INSERT ON y FOR EACH ROW EXECUTE FUNCTION perfmodel.profile_words('dtype', 'nothing');
SELECT helper.error_of('INSERT INTO y VALUES (2)');
ROLLBACK;
