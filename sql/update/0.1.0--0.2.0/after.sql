-- What has to be done when everything is there.

REVOKE ALL ON FUNCTION perfmodel.cross_validate, perfmodel.fit_cluster FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.profile_gpu_by_name, perfmodel.profile_words, perfmodel.check_numbers, perfmodel.refuse_update, perfmodel.forget_cached,
    perfmodel.guard_predictor, perfmodel.refuse_delete FROM PUBLIC;

-- Rights on functions that were made anew: as they were. They are the
-- administrator's, not the installation's, and pg_dump is to write them.
DO $$
DECLARE
    f record;
    g record;
    at_installation aclitem[];
BEGIN
    FOR f IN SELECT p.oid, p.oid::regprocedure AS name, r -> 'grants' AS grants
             FROM json_array_elements(current_setting('perfmodel_update.rights')::json) AS r
                  JOIN pg_proc AS p ON p.proname = r ->> 'function' AND p.pronamespace = 'perfmodel'::regnamespace
    LOOP
        SELECT i.initprivs INTO at_installation FROM pg_init_privs AS i WHERE i.objoid = f.oid AND i.classoid = 'pg_proc'::regclass;
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f.name);
        FOR g IN SELECT e ->> 'to' AS grantee, e ->> 'with' AS option FROM json_array_elements(f.grants) AS e
        LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s%s', f.name, g.grantee, g.option);
        END LOOP;
        IF at_installation IS NULL THEN
            DELETE FROM pg_init_privs AS i WHERE i.objoid = f.oid AND i.classoid = 'pg_proc'::regclass;
        ELSE
            UPDATE pg_init_privs AS i SET initprivs = at_installation WHERE i.objoid = f.oid AND i.classoid = 'pg_proc'::regclass;
        END IF;
    END LOOP;
END $$;

-- Families are kin by architecture now, and no longer the leading letters of a model's name.
ALTER TABLE perfmodel.graph DISABLE TRIGGER graph_immutable;
UPDATE perfmodel.graph SET family = perfmodel.family_of(model) WHERE family <> perfmodel.family_of(model);
ALTER TABLE perfmodel.graph ENABLE TRIGGER graph_immutable;
