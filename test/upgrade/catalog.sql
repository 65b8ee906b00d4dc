-- What an extension consists of, one line of text for each property of each
-- object, sorted, without the ids that differ between databases. Two databases
-- whose output is the same have the same extension.
--     psql -qXAt -v extension=perfmodel -f test/upgrade/catalog.sql
SET search_path = pg_catalog;
CREATE TEMP TABLE member AS
SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension x ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = x.oid
WHERE d.deptype = 'e' AND x.extname = :'extension';
CREATE TEMP TABLE member_table AS
SELECT c.oid, c.relname, c.relkind FROM member m JOIN pg_class c ON m.classid = 'pg_class'::regclass AND m.objid = c.oid;

CREATE FUNCTION pg_temp.rights(acl aclitem[], kind "char", owner oid) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(concat_ws(' ', CASE WHEN grantee = 0 THEN 'PUBLIC' WHEN grantee = owner THEN 'owner' ELSE grantee::regrole::text END,
                                privilege_type, CASE WHEN is_grantable THEN 'grantable' END), ', ' ORDER BY grantee = owner, grantee, privilege_type)
    FROM aclexplode(coalesce(acl, acldefault(kind, owner)))
$$;

SELECT line FROM (
    SELECT pg_describe_object(classid, objid, 0) AS object, 'member' AS property, '' AS value FROM member
    UNION ALL
    SELECT pg_describe_object(classid, objid, 0), 'comment', obj_description(objid, classid::regclass::name) FROM member
    UNION ALL
    -- functions: arguments, defaults, result, language, volatility, strictness, parallel, cost, rows, settings, body
    SELECT pg_describe_object('pg_proc'::regclass, p.oid, 0), 'definition', pg_get_functiondef(p.oid)
    FROM member m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid WHERE p.prokind <> 'a'
    UNION ALL
    SELECT pg_describe_object('pg_proc'::regclass, p.oid, 0), 'rights', pg_temp.rights(proacl, 'f', proowner)
    FROM member m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid
    UNION ALL
    -- types of its own: labels, attributes, what they are made of
    SELECT pg_describe_object('pg_type'::regclass, t.oid, 0), 'definition', concat_ws(' ', typtype, typcategory, format_type(typbasetype, typtypmod), typnotnull, typdefault)
    FROM member m JOIN pg_type t ON m.classid = 'pg_type'::regclass AND m.objid = t.oid
    UNION ALL
    -- relations
    SELECT relname::text, 'relation', concat_ws(' ', relkind, relpersistence, relrowsecurity, relforcerowsecurity, relreplident, reloptions)
    FROM member_table JOIN pg_class USING (oid, relname, relkind)
    UNION ALL
    SELECT relname::text, 'rights', pg_temp.rights(relacl, (CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END)::"char", relowner)
    FROM member_table JOIN pg_class c USING (oid, relname, relkind) WHERE c.relkind <> 'c'
    UNION ALL
    SELECT relname::text, 'parents', (SELECT string_agg(inhparent::regclass::text, ', ' ORDER BY inhseqno) FROM pg_inherits WHERE inhrelid = oid)
    FROM member_table
    UNION ALL
    -- columns in their order; that of an update is that of a fresh table when new columns are its last ones
    SELECT relname::text, 'column ' || to_char(row_number() OVER (PARTITION BY relname ORDER BY attnum), '00') || ' ' || attname,
           concat_ws(' ', format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN 'not null' END, attidentity, attgenerated, attstorage, attstattarget, (SELECT array_agg(o) FROM unnest(attoptions) AS o WHERE o ~ '^n_distinct'),
                     pg_get_expr(adbin, adrelid), attacl, 'inherited', attinhcount, attislocal, 'comment:', col_description(t.oid, attnum))
    FROM member_table t JOIN pg_attribute a ON attrelid = t.oid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT relname::text, 'view', pg_get_viewdef(oid) FROM member_table WHERE relkind IN ('v', 'm')
    UNION ALL
    SELECT relname::text, 'sequence', concat_ws(' ', seqtypid::regtype, seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle)
    FROM member_table JOIN pg_sequence ON seqrelid = oid
    UNION ALL
    SELECT relname::text, 'constraint ' || conname, concat_ws(' ', pg_get_constraintdef(c.oid), convalidated, conislocal, coninhcount, connoinherit, 'comment:', obj_description(c.oid, 'pg_constraint'))
    FROM member_table t JOIN pg_constraint c ON conrelid = t.oid
    UNION ALL
    SELECT relname::text, 'index', pg_get_indexdef(indexrelid) || concat_ws(' ', '', indisvalid, indisreplident, indisclustered, 'comment:', obj_description(indexrelid, 'pg_class'))
    FROM member_table JOIN pg_index ON indrelid = oid
    UNION ALL
    SELECT relname::text, 'trigger ' || tgname, concat_ws(' ', pg_get_triggerdef(g.oid), tgenabled, 'comment:', obj_description(g.oid, 'pg_trigger'))
    FROM member_table t JOIN pg_trigger g ON tgrelid = t.oid WHERE NOT tgisinternal
    UNION ALL
    SELECT relname::text, 'statistics ' || stxname, pg_get_statisticsobjdef(s.oid) FROM member_table t JOIN pg_statistic_ext s ON stxrelid = t.oid
    UNION ALL
    SELECT relname::text, 'policy ' || polname, concat_ws(' ', polcmd, pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid))
    FROM member_table t JOIN pg_policy ON polrelid = t.oid
    UNION ALL
    -- what pg_dump takes along, and the rights that it takes for those of the installation
    SELECT c.oid::regclass::text, 'dumped', coalesce(condition, '')
    FROM pg_extension x, unnest(extconfig, extcondition) AS e(oid, condition) JOIN pg_class c ON c.oid = e.oid WHERE extname = :'extension'
    UNION ALL
    SELECT pg_describe_object(i.classoid, i.objoid, i.objsubid), 'rights at installation',
           pg_temp.rights(initprivs, (CASE WHEN i.classoid = 'pg_proc'::regclass THEN 'f' ELSE 'r' END)::"char", (SELECT extowner FROM pg_extension WHERE extname = :'extension'))
    FROM pg_init_privs i JOIN member m ON m.classid = i.classoid AND m.objid = i.objoid
    UNION ALL
    SELECT 'extension', 'version and schema', concat_ws(' ', extversion, extnamespace::regnamespace, extrelocatable) FROM pg_extension WHERE extname = :'extension'
) AS p, LATERAL (SELECT replace(concat(object, ': ', property, ': ', value), E'\n', ' ') AS line) AS l
ORDER BY line COLLATE "C";
