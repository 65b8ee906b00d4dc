-- How long the texts are that people write into tables. They come back in
-- messages, in notes and in reports, and some of them stand in an index. All
-- are here, so that a new column is one line and an update checks as a fresh
-- installation does. The update does so at its very end.

DO $$
DECLARE
    l record;
    name text;
BEGIN
    FOR l IN SELECT * FROM (VALUES
            -- 512: what a stored predictor and a document of a graph hold
            ('gpu', 'name', 512), ('gpu', 'vendor', 512), ('gpu', 'interconnect', 512), ('gpu', 'memory_type', 512),
            ('gpu', 'aliases', 10000), ('gpu', 'note', 10000), ('gpu', 'source', 10000),
            ('graph', 'name', 512), ('graph', 'model', 512), ('graph', 'family', 512), ('graph', 'source', 512),
            ('profile', 'framework', 512), ('profile', 'source', 10000),
            ('op_profile', 'framework', 512), ('op_profile', 'source', 10000),
            ('interconnect', 'name', 512), ('interconnect', 'source', 10000),
            ('cluster', 'name', 512), ('cluster', 'intra', 512), ('cluster', 'inter', 512), ('cluster', 'source', 10000),
            ('name_alias', 'alias', 512), ('name_alias', 'name', 512), ('name_alias', 'note', 10000),
            ('price', 'provider', 512), ('price', 'region', 512), ('price', 'source', 10000),
            ('nightly_log', 'predictor', 512), ('nightly_log', 'candidate', 512), ('nightly_log', 'verdict', 512), ('nightly_log', 'why', 10000), ('collected_job', 'source', 512),
            ('carbon_intensity', 'region', 512), ('carbon_intensity', 'source', 10000), ('carbon_intensity', 'names', 10000),
            ('convergence', 'dataset', 512), ('convergence', 'target', 512), ('convergence', 'optimizer', 512), ('convergence', 'source', 10000)) AS v(tab, col, bytes)
    LOOP
        name := format('%s_%s_at_most_%s_bytes', l.tab, l.col, l.bytes);
        EXECUTE format('ALTER TABLE perfmodel.%I ADD CONSTRAINT %I CHECK (octet_length(%s) <= %s) NOT VALID', l.tab, name,
                       CASE WHEN l.col IN ('aliases', 'names') THEN format('array_to_string(%I, '' '')', l.col) ELSE quote_ident(l.col) END, l.bytes);
        EXECUTE format('COMMENT ON CONSTRAINT %I ON perfmodel.%I IS %L', name, l.tab, 'texts of people have a limit');
        -- rows of an older version may be longer, and stay
        BEGIN
            EXECUTE format('ALTER TABLE perfmodel.%I VALIDATE CONSTRAINT %I', l.tab, name);
        EXCEPTION WHEN check_violation THEN
            RAISE WARNING 'rows of perfmodel.% have more than % bytes in the column %', l.tab, l.bytes, l.col
                USING HINT = format('Shorten them, then ALTER TABLE perfmodel.%I VALIDATE CONSTRAINT %I: a dump with such rows cannot be restored.', l.tab, name);
        END;
    END LOOP;
END $$;
