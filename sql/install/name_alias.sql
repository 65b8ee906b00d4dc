-- What names in job histories mean, where they are no names of graphs, devices or number formats.
-- The table is new in 0.2.0, so that an update makes it from this file.

CREATE TABLE perfmodel.name_alias (
    kind  text NOT NULL CONSTRAINT name_alias_kind_known CHECK (kind IN ('graph', 'gpu', 'dtype')),
    alias text NOT NULL CONSTRAINT name_alias_alias_not_empty CHECK (alias <> ''),
    name  text NOT NULL CONSTRAINT name_alias_name_not_empty CHECK (name <> ''),
    note  text,
    CONSTRAINT name_alias_pkey PRIMARY KEY (kind, alias)
);
COMMENT ON TABLE perfmodel.name_alias IS 'names that your tables of jobs use; resolve_job_names and the planning functions know them';
COMMENT ON COLUMN perfmodel.name_alias.kind IS 'what the name is of: graph, gpu or dtype';
COMMENT ON COLUMN perfmodel.name_alias.alias IS 'the name as it stands in the jobs, letter for letter';
COMMENT ON COLUMN perfmodel.name_alias.name IS 'what it means: the name of a graph, of a device in perfmodel.gpu, or of a number format';
COMMENT ON COLUMN perfmodel.name_alias.note IS 'a remark of your own';

CREATE TRIGGER name_alias_forget_cached AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON perfmodel.name_alias
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.forget_cached();
COMMENT ON TRIGGER name_alias_forget_cached ON perfmodel.name_alias IS 'makes sessions drop cached names';
ALTER TABLE perfmodel.name_alias ENABLE ALWAYS TRIGGER name_alias_forget_cached;
CREATE TRIGGER name_alias_forget_applied AFTER INSERT OR UPDATE OR DELETE ON perfmodel.name_alias
    FOR EACH ROW EXECUTE FUNCTION perfmodel.forget_cached();
ALTER TABLE perfmodel.name_alias ENABLE REPLICA TRIGGER name_alias_forget_applied;
COMMENT ON TRIGGER name_alias_forget_applied ON perfmodel.name_alias IS 'like name_alias_forget_cached, for rows that logical replication applies';

SELECT pg_catalog.pg_extension_config_dump('perfmodel.name_alias', '');
GRANT SELECT ON perfmodel.name_alias TO PUBLIC;
