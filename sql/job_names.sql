-- What the names in a history of jobs mean.
\pset format unaligned
SET client_min_messages = warning;
BEGIN;
SELECT count(perfmodel.load_graph(helper.cnn(name, 8 + length(name), 2)))
FROM unnest('{names_resnet50@224,names_resnet50@96,names_vgg16@224,names_regnet_x_16gf@224,names_vgg19@224}'::text[]) AS name;

-- exact, another way to write it, several, similar, none, missing
SELECT what, given, jobs_with_it AS jobs, match, resolved, graph_id = perfmodel.find_graph(resolved) AS id, score, candidates, note
FROM perfmodel.resolve_job_names(graphs => ARRAY['names_resnet50@224', 'Names-ResNet-50@224', 'names vgg16', 'names-resnet-50', 'names_vgg17', 'names_regnet_x_1_6gf',
        'names_vgg16@224', 'names_vgg16@224', 'whatever', '', NULL],
    gpus => ARRAY['Tesla V100-SXM2-16GB', 'A100-SXM4-40GB', 'a100', 'V100-SXM3-32GB', 'RTX 3097', 'abacus', NULL], dtypes => '{fp32,float16,TF32 (default),fp64}');
-- similar is never resolved, whatever score is asked for
SELECT count(*) AS guesses FROM perfmodel.resolve_job_names(graphs => '{names_vgg17,names_regnet_x_1_6gf}', gpus => '{V100-SXM3-32GB}', dtypes => NULL, min_score => 0)
WHERE resolved IS NOT NULL OR graph_id IS NOT NULL;
SELECT given, match, resolved, score, candidates FROM perfmodel.resolve_job_names(graphs => NULL, gpus => '{MI308X,B100,"a100 80",TPU v4}', dtypes => NULL) ORDER BY given;
SELECT match, candidates FROM perfmodel.resolve_job_names(graphs => '{names_vgg17}', gpus => NULL, dtypes => NULL, min_score => 1);

-- names that begin alike are told, as an error would tell them, whatever their likeness
SAVEPOINT gpt;
SELECT count(perfmodel.load_graph(helper.cnn(name, 8, 2))) FROM unnest('{gpt2_small@s32,gpt2_medium@s32,gpt_neo@s128}'::text[]) AS name;
SELECT given, match, resolved, score, candidates FROM perfmodel.resolve_job_names(graphs => '{gpt2,gpt-j-6b,gpt2_small@s32 v7 of tuesday}', gpus => NULL, dtypes => NULL) ORDER BY given;
SELECT regexp_replace(helper.error_of($$SELECT perfmodel.graph_id('gpt2')$$), 'There are \d+', 'There are N') AS error_of;
ROLLBACK TO gpt;
-- a table, with names of columns that need quotes
CREATE SCHEMA "Job ""logs""";
CREATE TABLE "Job ""logs"""."my jobs" ("net""work" text, gpu text, "Precision" varchar(20), batch int, layout text, "drop table x; --" text);
INSERT INTO "Job ""logs"""."my jobs" VALUES ('names_vgg16@224', 'T4', 'FP16', 8, 'channels_last', 'adam'), ('names_vgg16@224', 'T4', 'fp16', NULL, 'nchw', 'lion'),
    (NULL, 'T4', 'fp16', 0, 'nchw', NULL);
SELECT what, given, jobs_with_it AS jobs, match, resolved, note FROM perfmodel.resolve_job_names('"Job ""logs"""."my jobs"',
    '{"graph": "net\"work", "dtype": "Precision", "optimizer": "drop table x; --"}');
-- a column that has the usual name and shall not be read
SELECT DISTINCT what FROM perfmodel.resolve_job_names('"Job ""logs"""."my jobs"', '{"gpu": null, "batch": null}');
CREATE VIEW one_column AS SELECT 'T4'::text AS device;
SELECT what, match FROM perfmodel.resolve_job_names('one_column', '{"gpu": "device"}');
-- numbers are shown, too, those that are none with what they can be; blanks around one are no part of it
CREATE VIEW numbers AS SELECT v.* FROM (VALUES ('8', 1.0), (' 16 ', 0), ('8.5', 0.5), ('0x', 1000001), ('', NULL)) AS v(batch, gpu_count);
SELECT what, given, match, resolved, note FROM perfmodel.resolve_job_names('numbers');
-- a name for itself
SELECT j.given, r.resolved FROM (VALUES ('T4'), ('Tesla T4')) AS j(given) JOIN perfmodel.resolve_job_names(graphs => NULL, gpus => '{T4,Tesla T4}', dtypes => NULL) AS r USING (given) ORDER BY 1;
SELECT count(*) FROM perfmodel.resolve_job_names(graphs => NULL, gpus => '{}', dtypes => NULL);
SELECT helper.error_of('SELECT * FROM perfmodel.resolve_job_names(NULL::regclass)');
-- the command of a hint can be typed as it stands there
CREATE VIEW "One Column" AS SELECT * FROM one_column;
SELECT helper.error_of($$SELECT * FROM perfmodel.resolve_job_names('"One Column"', '{"gpu": "devise"}')$$);

-- a cancel ends it
SAVEPOINT long;
SET LOCAL statement_timeout = 100;
\set VERBOSITY terse
SELECT count(*) FROM perfmodel.resolve_job_names(graphs => NULL, gpus => (SELECT array_agg('RTX ' || i) FROM generate_series(1, 500000) AS i), dtypes => NULL);
\set VERBOSITY default
ROLLBACK TO long;
SELECT helper.error_of(format('SELECT * FROM perfmodel.resolve_job_names(%s)', a)) FROM unnest(ARRAY[
    '''one_column''', '''one_column'', ''{"grahp": "device"}''', '''one_column'', ''{"gpu": "devise"}''', '''one_column'', ''{"gpu": 7}''', '''one_column'', ''[]''',
    '''one_column'', ''{"gpu": "ctid"}''', '''perfmodel.graph_graph_id_seq''', '987654321::oid::regclass', '''one_column'', ''{"gpu": "device; DROP TABLE x"}''',
    '''one_column'', ''{"gpu": "device"}'', 1.5', '''one_column'', ''{"gpu": "device"}'', ''NaN''::float8']) AS a;
-- ---- names of one's own, letter for letter: they go before similar and ambiguous ones, and never before what is called so itself
SET client_min_messages = notice;
INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES ('graph', 'prod-cv-2', 'names_vgg16@224'), ('graph', 'names-resnet-50', 'names_resnet50@96'), ('graph', 'names_vgg19@224', 'names_vgg16@224'), ('graph', 'gone', 'no such graph'),
    ('gpu', 'partition "a"', 'Tesla T4'), ('gpu', 'a100', 'A100-SXM4-80GB'), ('gpu', 'T4', 'L4'), ('gpu', 'old', 'no such GPU'), ('dtype', 'O1', 'AMP'), ('dtype', 'fp32', 'fp16'), ('dtype', 'half', 'fp99');
-- what it means must be said by its own name, for an alias leads nowhere else
INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES ('graph', 'shouted', 'NAMES_VGG16@224'), ('gpu', 'alias of an alias', 'partition "a"');
DELETE FROM perfmodel.name_alias WHERE alias IN ('shouted', 'alias of an alias');
SET client_min_messages = warning;
SELECT what, given, match, resolved, graph_id = perfmodel.find_graph(resolved) AS id, note
FROM perfmodel.resolve_job_names(graphs => '{prod-cv-2,Prod-CV-2,names-resnet-50,names_vgg19@224,gone}', gpus => '{"partition \"a\"",a100,T4,old}', dtypes => '{O1,fp32,half}') ORDER BY what, given;
SELECT helper.load_world() > 0 AS loaded;
SELECT perfmodel.train('names', 'roofline') > 0 AS trained;
CREATE TABLE aliased AS SELECT * FROM (VALUES (1, 'prod-cv-2', 'partition "a"', 'O1'), (2, 'names_vgg16@224', 'T4', 'amp'), (3, 'gone', 'T4', 'amp'), (4, 'names_vgg16@224', 'old', 'half')) AS v(job_id, graph, gpu, dtype), (SELECT 8 AS batch, 100 AS steps) AS s;
SELECT a.job_id, a.gpu, a.p50_s = b.p50_s AS same, a.note FROM perfmodel.forecast_jobs('aliased', predictor => 'names') AS a LEFT JOIN perfmodel.forecast_jobs('aliased', predictor => 'names') AS b ON b.job_id = '2' ORDER BY 1;
SELECT job_id, start_p50 IS NOT NULL AS starts FROM perfmodel.queue_eta('aliased', free => '{"partition \"a\"": 1}', predictor => 'names') ORDER BY 1;
SELECT job_id, node FROM perfmodel.place('aliased', nodes => '{n}', node_gpus => '{"partition \"a\""}', node_free => '{1}', predictor => 'names') WHERE node IS NOT NULL;
SELECT job_id, gpu, step_ms > 0 AS step FROM perfmodel.what_if_jobs('aliased', gpus => '{a100}', predictor => 'names') WHERE job_id = '1';
-- ---- one rule: whoever reads a table of jobs, a name means the same
CREATE TABLE spelt AS SELECT row_number() OVER (ORDER BY g.nth, c.nth, d.nth) AS job_id, graph, gpu, dtype, 8 AS batch, 100 AS steps, 3600 AS duration_s, now() AS submitted_at, now() AS finished_at, 0 AS gpu_s
FROM unnest('{names_vgg16@224,Names-VGG 16@224,names_vgg17,names resnet50,names-resnet-50,gone,NAMES_REGNET_X_16GF,prod-cv-2}'::text[]) WITH ORDINALITY AS g(graph, nth),
     unnest('{T4,t4,a100,old,"partition \"a\"",V100-SXM3-32GB}'::text[]) WITH ORDINALITY AS c(gpu, nth), unnest('{fp32,float16,O1,half,fp64}'::text[]) WITH ORDINALITY AS d(dtype, nth);
CREATE TEMP VIEW meant AS SELECT s.job_id, n.graph_id, c.resolved AS gpu, d.resolved AS dtype
FROM spelt AS s, perfmodel.resolve_job_names('spelt') AS n, perfmodel.resolve_job_names('spelt') AS c, perfmodel.resolve_job_names('spelt') AS d
WHERE n.what = 'graph' AND n.given = s.graph AND c.what = 'gpu' AND c.given = s.gpu AND d.what = 'dtype' AND d.given = s.dtype;
CREATE FUNCTION pg_temp.reported() RETURNS TABLE (job_id bigint, graph_id bigint, gpu text, dtype text) LANGUAGE plpgsql AS
    $$BEGIN RETURN QUERY EXECUTE format('SELECT round(extract(epoch FROM submitted_at))::bigint, r.graph_id, perfmodel.find_gpu(r.gpu), perfmodel.find_dtype(r.dtype) FROM (%s) AS r', perfmodel.report_jobs('spelt_at', '{"graph": "graph"}')); END$$;
CREATE VIEW spelt_at AS SELECT to_timestamp(job_id) AS submitted_at, duration_s, gpu, batch, graph, dtype FROM spelt;
SELECT count(*) AS jobs, count(*) FILTER (WHERE m.graph_id IS NOT NULL AND m.gpu IS NOT NULL AND m.dtype IS NOT NULL) AS known,
       bool_and((f.p50_s IS NOT NULL) = (m.graph_id IS NOT NULL AND m.gpu IS NOT NULL AND m.dtype IS NOT NULL) OR f.note ~ '^does not fit') AS forecast,
       bool_and(f.gpu = m.gpu) AS forecast_gpu, bool_and((r.graph_id, r.gpu, r.dtype) IS NOT DISTINCT FROM (m.graph_id, m.gpu, m.dtype)) AS report
FROM meant AS m JOIN pg_temp.reported() AS r USING (job_id) JOIN perfmodel.forecast_jobs('spelt', '{"duration_s": null, "finished_at": null}', predictor => 'names') AS f ON f.job_id = m.job_id::text;
SELECT DISTINCT s.graph, f.note FROM perfmodel.forecast_jobs('spelt', '{"duration_s": null, "finished_at": null}', predictor => 'names') AS f JOIN spelt AS s ON s.job_id::text = f.job_id WHERE f.p50_s IS NULL AND s.gpu = 'T4' AND s.dtype = 'fp32' ORDER BY 1;
SELECT DISTINCT s.gpu, f.note FROM perfmodel.forecast_jobs('spelt', '{"duration_s": null, "finished_at": null}', predictor => 'names') AS f JOIN spelt AS s ON s.job_id::text = f.job_id WHERE f.p50_s IS NULL AND s.graph = 'prod-cv-2' AND s.dtype = 'fp32' ORDER BY 1;
SAVEPOINT collected;
DELETE FROM perfmodel.profile;
SELECT c.outcome, c.n_jobs, (SELECT count(*) FROM meant WHERE (graph_id IS NOT NULL AND gpu IS NOT NULL AND dtype IS NOT NULL) = (c.outcome = 'taken')) AS meant
FROM perfmodel.collect_from_jobs('spelt', startup_s => 0) AS c ORDER BY 1;
SELECT count(*) FROM ((SELECT DISTINCT graph_id, gpu, dtype FROM meant WHERE graph_id IS NOT NULL AND gpu IS NOT NULL AND dtype IS NOT NULL) EXCEPT (SELECT graph_id, gpu, dtype FROM perfmodel.profile)) AS missing;
ROLLBACK TO collected;
-- ---- what jobs do not say, with NULL or blanks, is read alike by plans, reports and measurements; so is an optimizer that is none of ours
CREATE TABLE untold AS SELECT row_number() OVER () AS job_id, v.*, 8 AS batch, 100 AS steps, 3600 AS duration_s, now() AS submitted_at, now() AS finished_at FROM (VALUES
    ('told', 'names_vgg16@224', 'T4', 'fp32', 'nchw', 'sgd_momentum', 1), ('null', 'names_vgg16@224', 'T4', NULL, NULL, NULL, NULL), ('blank', 'names_vgg16@224', 'T4', '', ' ', '  ', 1),
    ('lion', 'names_vgg16@224', 'T4', 'fp32', 'nchw', 'lion', 1), ('other', 'names_vgg16@224', 'T4', 'fp32', 'nchw', 'other', 1), ('no graph', NULL, 'T4', 'fp32', 'nchw', 'sgd', 1), ('blank graph', ' ', 'T4', 'fp32', 'nchw', 'sgd', 1),
    ('no gpu', 'names_vgg16@224', NULL, 'fp32', 'nchw', 'sgd', 1), ('blank gpu', 'names_vgg16@224', '', 'fp32', 'nchw', 'sgd', 1), ('tabs', E'\t', E'\n', E' \t', 'nchw', 'sgd', 1), ('odd layout', 'names_vgg16@224', 'T4', 'fp32', 'nhcw', 'sgd', 1)) AS v(say, graph, gpu, dtype, layout, optimizer, gpu_count);
SELECT u.say, f.p50_s = t.p50_s AS as_told, f.p50_s = o.p50_s AS as_other, f.note FROM untold AS u JOIN perfmodel.forecast_jobs('untold', '{"duration_s": null, "finished_at": null}', predictor => 'names') AS f ON f.job_id = u.job_id::text,
    perfmodel.forecast_jobs('untold', '{"duration_s": null, "finished_at": null}', predictor => 'names') AS t, perfmodel.forecast_jobs('untold', '{"duration_s": null, "finished_at": null}', predictor => 'names') AS o WHERE t.job_id = '1' AND o.job_id = '5' ORDER BY u.job_id;
SELECT DISTINCT note FROM perfmodel.what_if_jobs('untold', '{"finished_at": null}', gpus => '{T4}', predictor => 'names') WHERE job_id IN ('4', '7') ORDER BY 1;
SELECT "position", job_id, note FROM perfmodel.queue_order_arrays(job_ids => '{a,b}', gpus => '{" ",NULL}', gpu_counts => '{1,1}', durations_p50_s => '{1,2}');
SELECT what, given, jobs_with_it AS jobs, match, resolved, note FROM perfmodel.resolve_job_names('untold') WHERE match = 'missing' OR given = 'lion';
DO $$
DECLARE r record; BEGIN
    FOR r IN EXECUTE format('SELECT graph_id IS NOT NULL AS graph, r.gpu, r.dtype, r.layout, r.gpu_count, count(*) AS jobs FROM (%s) AS r GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 4', perfmodel.report_jobs('untold', '{"graph": "graph"}')) LOOP RAISE WARNING '%', r; END LOOP;
END $$;
SAVEPOINT untold;
DELETE FROM perfmodel.profile;
SELECT * FROM perfmodel.collect_from_jobs('untold', startup_s => 0);
SELECT p.gpu, p.dtype, p.layout, p.optimizer, p.world_size FROM perfmodel.profile AS p ORDER BY p.optimizer;
-- a name that several devices could mean: the trigger of perfmodel.profile says once which is taken, and name_alias has said it already
UPDATE untold SET gpu = CASE WHEN job_id % 2 = 0 THEN 'V100' ELSE 'Tesla V100' END, batch = job_id;
SET client_min_messages = notice;
SELECT * FROM perfmodel.collect_from_jobs('untold', startup_s => 0, since => '2020-01-01');
INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES ('gpu', 'V100', 'V100-SXM2-32GB'), ('gpu', 'Tesla V100', 'V100-SXM2-32GB');
SELECT * FROM perfmodel.collect_from_jobs('untold', startup_s => 0, since => '2020-01-01');
SET client_min_messages = warning;
SELECT gpu, count(*) FROM perfmodel.profile WHERE gpu <> 'T4' GROUP BY 1 ORDER BY 1;
ROLLBACK TO untold;
-- a change is seen at once
DELETE FROM perfmodel.name_alias WHERE alias = 'prod-cv-2';
SELECT note FROM perfmodel.forecast_jobs('aliased', predictor => 'names') WHERE job_id = '1';
SELECT helper.error_of(format('INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES (%s)', v)) FROM unnest(ARRAY['''model'', ''a'', ''b''', '''gpu'', '''', ''b''', '''gpu'', '' '', ''b''', '''gpu'', E''\t\n'', ''b''', '''gpu'', ''T4'', ''b''', '''gpu'', ''c'', ''''', '''gpu'', ''c'', E''\t''', '''gpu'', NULL, ''b''', 'NULL, ''a'', ''b''']) AS v;
-- blanks that nobody sees are no part of a name; of a number they are, and that is said
SELECT what, replace(replace(given, E'\u00a0', '_'), E'\ufeff', '^') AS given, match, resolved, candidates, note
FROM perfmodel.resolve_job_names(graphs => ARRAY[(SELECT E'\ufeff' || min(name) FROM perfmodel.graph WHERE name ~ '^anet')], gpus => ARRAY[E'RTX\u00a03090', E'RTX\u00a03091'], dtypes => ARRAY[E'amp\u00a0', E'\ufefffp16', E'fp17\u00a0']);
CREATE TEMP TABLE sheet AS SELECT 'T4'::text AS gpu, E'64\u00a0'::text AS batch;
SELECT match, note FROM perfmodel.resolve_job_names('sheet') WHERE what = 'batch';
SELECT helper.error_of(E'SELECT perfmodel.graph_id(''anet4\u00a0@16'')') ~ 'hint: The name that was given has a blank that is no space, such as U.00A0 or U.FEFF. Did you mean "anet4@16"' AS said;
-- with the caller's rights
CREATE ROLE pm_test_names;
GRANT USAGE ON SCHEMA helper TO pm_test_names;
SET ROLE pm_test_names;
SELECT helper.error_of('SELECT * FROM perfmodel.resolve_job_names(''public.one_column'', ''{"gpu": "device"}'')');
SELECT helper.error_of('SELECT * FROM perfmodel.resolve_job_names(graphs => ''{x}'', gpus => NULL, dtypes => NULL)');
RESET ROLE;
ROLLBACK;
