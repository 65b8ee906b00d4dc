-- The schema may have been there before.  Whoever may create in it can give every later statement of this script, and every query of the
-- extension's functions, operators of their own, which then run with the rights of whoever runs them.  So all of it is a superuser's.
DO $$
DECLARE
    other pg_catalog.name;
BEGIN
    SELECT r.rolname INTO other
    FROM pg_catalog.pg_namespace AS n, pg_catalog.pg_roles AS r
    WHERE n.nspname OPERATOR(pg_catalog.=) 'perfmodel'::pg_catalog.name AND NOT r.rolsuper
      AND (r.oid OPERATOR(pg_catalog.=) n.nspowner
           OR EXISTS (SELECT FROM pg_catalog.pg_proc AS p WHERE p.pronamespace OPERATOR(pg_catalog.=) n.oid AND p.proowner OPERATOR(pg_catalog.=) r.oid)
           OR EXISTS (SELECT FROM pg_catalog.pg_operator AS o WHERE o.oprnamespace OPERATOR(pg_catalog.=) n.oid AND o.oprowner OPERATOR(pg_catalog.=) r.oid)
           OR EXISTS (SELECT FROM pg_catalog.pg_type AS t WHERE t.typnamespace OPERATOR(pg_catalog.=) n.oid AND t.typowner OPERATOR(pg_catalog.=) r.oid)
           OR EXISTS (SELECT FROM pg_catalog.aclexplode(n.nspacl) AS a WHERE a.grantee OPERATOR(pg_catalog.=) r.oid
                      AND a.privilege_type OPERATOR(pg_catalog.=) 'CREATE'::pg_catalog.text))
    LIMIT 1;
    IF EXISTS (SELECT FROM pg_catalog.pg_namespace AS n, pg_catalog.aclexplode(n.nspacl) AS a
               WHERE n.nspname OPERATOR(pg_catalog.=) 'perfmodel'::pg_catalog.name AND a.grantee OPERATOR(pg_catalog.=) 0::pg_catalog.oid
                 AND a.privilege_type OPERATOR(pg_catalog.=) 'CREATE'::pg_catalog.text) THEN
        other := 'public';
    END IF;
    IF other IS NOT NULL THEN
        RAISE EXCEPTION 'the schema perfmodel is not safe: role "%" owns it or something in it, or may create in it', other
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  DETAIL = 'What that role puts there could run with the rights of whoever uses perfmodel.',
                  HINT = 'If nothing in it is needed, DROP SCHEMA perfmodel CASCADE. Otherwise look at what is there, drop what is not yours, '
                         'ALTER SCHEMA perfmodel OWNER TO CURRENT_USER, and REVOKE CREATE ON SCHEMA perfmodel.';
    END IF;
END $$;
