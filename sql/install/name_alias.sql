-- What names in job histories mean, where they are no names of graphs, devices or number formats.
-- The table is new in 0.2.0, so that an update makes it from this file.

CREATE TABLE perfmodel.name_alias (
    kind  text NOT NULL CONSTRAINT name_alias_kind_known CHECK (kind IN ('graph', 'gpu', 'dtype')),
    alias text NOT NULL CONSTRAINT name_alias_alias_not_empty CHECK (alias ~ '[^[:space:]]'),
    name  text NOT NULL CONSTRAINT name_alias_name_not_empty CHECK (name ~ '[^[:space:]]'),
    note  text,
    CONSTRAINT name_alias_pkey PRIMARY KEY (kind, alias)
);
COMMENT ON TABLE perfmodel.name_alias IS 'your own names of graphs and formats (for tables of jobs) and of devices (wherever a device is named)';
COMMENT ON COLUMN perfmodel.name_alias.kind IS 'kind of the name: graph, gpu or dtype';
COMMENT ON COLUMN perfmodel.name_alias.alias IS 'the name as in the jobs, in exactly this spelling';
COMMENT ON COLUMN perfmodel.name_alias.name IS 'its meaning: the name of a graph, of a device in perfmodel.gpu, or of a number format';
COMMENT ON COLUMN perfmodel.name_alias.note IS 'a remark of your own';

CREATE TRIGGER name_alias_forget_cached AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON perfmodel.name_alias
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.forget_cached();
COMMENT ON TRIGGER name_alias_forget_cached ON perfmodel.name_alias IS 'makes sessions drop cached names';
ALTER TABLE perfmodel.name_alias ENABLE ALWAYS TRIGGER name_alias_forget_cached;
CREATE TRIGGER name_alias_forget_applied AFTER INSERT OR UPDATE OR DELETE ON perfmodel.name_alias
    FOR EACH ROW EXECUTE FUNCTION perfmodel.forget_cached();
ALTER TABLE perfmodel.name_alias ENABLE REPLICA TRIGGER name_alias_forget_applied;
COMMENT ON TRIGGER name_alias_forget_applied ON perfmodel.name_alias IS 'like name_alias_forget_cached, for rows that logical replication applies';

-- A name that means nothing yet is kept, with a notice: the graph may be loaded later, as it is when a dump is restored.
CREATE FUNCTION perfmodel.check_name_alias() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    means text;
    itself boolean;
    thing CONSTANT text := CASE NEW.kind WHEN 'gpu' THEN 'GPU' WHEN 'dtype' THEN 'number format' ELSE 'graph' END;
    near text;
    slice CONSTANT text := '(^|[^[:alnum:]])([1-8]g([._-][0-9]+|[._-]?[0-9]+gb?)|mig)($|[^[:alnum:]])';
BEGIN
    -- the table's own error says it
    IF num_nulls(NEW.kind, NEW.alias, NEW.name) > 0 THEN
        RETURN NEW;
    END IF;
    IF NEW.kind <> ALL ('{graph,gpu,dtype}') THEN
        RAISE EXCEPTION 'unknown kind of name "%"', left(NEW.kind, 64) USING ERRCODE = 'check_violation', SCHEMA = 'perfmodel', TABLE = 'name_alias', CONSTRAINT = 'name_alias_kind_known',
            DETAIL = 'kind says what the name is of.', HINT = 'Known are graph, gpu and dtype.';
    ELSIF NEW.alias !~ '[^[:space:]]' OR NEW.name !~ '[^[:space:]]' THEN
        RAISE EXCEPTION '% must not be blank', CASE WHEN NEW.alias !~ '[^[:space:]]' THEN 'alias' ELSE 'name' END
            USING ERRCODE = 'check_violation', SCHEMA = 'perfmodel', TABLE = 'name_alias', CONSTRAINT = format('name_alias_%s_not_empty', CASE WHEN NEW.alias !~ '[^[:space:]]' THEN 'alias' ELSE 'name' END),
            DETAIL = 'alias is the name as it stands in the jobs, name what it means.', HINT = 'For example: INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES (''gpu'', ''partition_b'', ''T4'').';
    END IF;
    means := CASE NEW.kind WHEN 'graph' THEN perfmodel.find_graph(NEW.name)::text WHEN 'gpu' THEN perfmodel.find_gpu(NEW.name) ELSE perfmodel.find_dtype(NEW.name) END;
    -- no row leads to another
    IF NEW.kind = 'gpu' AND means <> NEW.name AND EXISTS (SELECT FROM perfmodel.name_alias AS a WHERE a.kind = 'gpu' AND a.alias = NEW.name) THEN
        means := NULL;
    END IF;
    itself := CASE NEW.kind WHEN 'graph' THEN perfmodel.find_graph(NEW.alias) IS NOT NULL WHEN 'gpu' THEN perfmodel.find_gpu(NEW.alias) = NEW.alias ELSE perfmodel.find_dtype(NEW.alias) = NEW.alias END;
    IF itself THEN
        RAISE NOTICE 'this row has no effect: "%" is itself the name of a %', left(NEW.alias, 64), thing USING HINT = 'What is called so itself goes before aliases.';
    ELSIF means IS NULL THEN
        SELECT CASE WHEN n.resolved IS NOT NULL THEN format('Its own name is "%s": say that.', n.resolved)
                    WHEN n.candidates IS NOT NULL THEN format('Near to it: %s.', array_to_string(n.candidates, ', ')) ELSE upper(left(n.note, 1)) || substr(n.note, 2) || '.' END INTO near
        FROM perfmodel.resolve_job_names(CASE NEW.kind WHEN 'graph' THEN ARRAY[NEW.name] END, CASE NEW.kind WHEN 'gpu' THEN ARRAY[NEW.name] END, CASE NEW.kind WHEN 'dtype' THEN ARRAY[NEW.name] END) AS n;
        RAISE NOTICE 'there is no % "%": until there is, "%" means nothing', thing, left(NEW.name, 64), left(NEW.alias, 64) USING HINT = near;
    ELSIF NEW.kind = 'gpu' AND NEW.alias ~* slice AND means !~* slice THEN
        RAISE NOTICE '"%" is a slice of a card (MIG), and is predicted as the whole "%"', left(NEW.alias, 64), means
            USING HINT = 'A slice is slower and has less memory: better INSERT its own data sheet into perfmodel.gpu.';
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION perfmodel.check_name_alias() IS 'trigger: explains errors in a row of name_alias; a notice if its name is not known';
REVOKE ALL ON FUNCTION perfmodel.check_name_alias() FROM PUBLIC;
CREATE TRIGGER name_alias_check BEFORE INSERT OR UPDATE ON perfmodel.name_alias
    FOR EACH ROW EXECUTE FUNCTION perfmodel.check_name_alias();
COMMENT ON TRIGGER name_alias_check ON perfmodel.name_alias IS 'explains errors in a row';

SELECT pg_catalog.pg_extension_config_dump('perfmodel.name_alias', '');
GRANT SELECT ON perfmodel.name_alias TO PUBLIC;
