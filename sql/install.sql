-- What is installed, and that it is described.
SELECT library = catalog AS versions_agree FROM perfmodel.version();
-- files and catalog of different versions are noticed; the warning names them, and so would this file
BEGIN;
SET LOCAL client_min_messages = error;
UPDATE pg_extension SET extversion = '0.0.0' WHERE extname = 'perfmodel';
SELECT library = catalog AS versions_agree FROM perfmodel.version();
ROLLBACK;

-- every object of the extension has a comment
SELECT pg_describe_object(classid, objid, objsubid) AS without_comment
FROM pg_depend d
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'perfmodel')
  AND classid IN ('pg_class'::regclass, 'pg_proc'::regclass)
  AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = objid AND classid = 'pg_class'::regclass AND relkind = 'S')
  AND obj_description(objid, classid::regclass::name) IS NULL;
-- every column too
SELECT attrelid::regclass, attname AS without_comment
FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
WHERE relnamespace = 'perfmodel'::regnamespace AND relkind IN ('r', 'v') AND attnum > 0 AND NOT attisdropped
  AND col_description(attrelid, attnum) IS NULL;
-- and every trigger that is not the server's own
SELECT tgname AS without_comment FROM pg_trigger
WHERE NOT tgisinternal AND tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'perfmodel'::regnamespace)
  AND obj_description(oid, 'pg_trigger') IS NULL;

-- what psql shows of it stays narrow; docs/reference.md has the details
SELECT coalesce(pg_describe_object(classoid, objoid, objsubid), '') AS long_comment, length(description) AS length
FROM pg_description
WHERE length(description) > 115 AND (classoid, objoid) IN (
    SELECT classid, objid FROM pg_depend
    WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'perfmodel'));

-- views read with the rights and policies of who asks
SELECT c.oid::regclass AS reads_as_its_owner FROM pg_class AS c
WHERE relnamespace = 'perfmodel'::regnamespace AND relkind = 'v' AND current_setting('server_version_num')::int >= 150000
  AND NOT coalesce('security_invoker=true' = ANY (reloptions), false);

-- texts that people write have a limit, or name a row of another table, or are one of a few words; the rest is written by functions
SELECT c.relname, a.attname AS without_limit
FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
WHERE c.relnamespace = 'perfmodel'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
  AND a.atttypid IN ('text'::regtype, 'text[]'::regtype) AND c.relname NOT IN ('graph_node', 'predictor', 'training_run') AND (c.relname, a.attname) <> ('graph', 'structure')
  AND NOT EXISTS (SELECT FROM pg_constraint AS k WHERE k.conrelid = c.oid AND a.attnum = ANY (k.conkey) AND (k.contype = 'f' OR pg_get_constraintdef(k.oid) ~ 'octet_length|ANY'))
ORDER BY c.relname, a.attnum;

-- how functions may be used
\pset format unaligned
SELECT proname, pronargs AS arguments, provolatile AS volatile, proparallel AS parallel,
       proisstrict AS strict, prosecdef AS definer
FROM pg_proc WHERE pronamespace = 'perfmodel'::regnamespace ORDER BY proname, pronargs;
\pset format aligned

-- what pg_dump keeps
SELECT c.relname, e.condition
FROM pg_extension x, unnest(extconfig, extcondition) AS e(oid, condition) JOIN pg_class c ON c.oid = e.oid
WHERE extname = 'perfmodel' ORDER BY relname;
SELECT relname AS not_dumped FROM pg_class
WHERE relnamespace = 'perfmodel'::regnamespace AND relkind IN ('r', 'S')
  AND oid <> ALL ((SELECT extconfig FROM pg_extension WHERE extname = 'perfmodel')::oid[]);

-- the right kernels: not the fallback for unknown CPUs where the CPU has AVX2
SELECT library ~ 'OpenBLAS' AS openblas, threads, kernel <> 'Prescott' OR cpu = 'older' AS good_kernel,
       linked IN ('static', 'shared') AS linked FROM perfmodel.blas_info();

-- settings
SELECT name, setting, unit, context, min_val, max_val FROM pg_settings WHERE name LIKE 'perfmodel.%' ORDER BY name;
SET perfmodel.train_threads = 65;
SET perfmodel.no_such_setting = 1;

-- nobody to judge, and nothing measured: a row that says so, for dashboards of a new database
SELECT measurements, verdict, advice FROM perfmodel.active_drift;
