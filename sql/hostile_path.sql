-- Objects that somebody planted in front of the server's own must not run.
\pset format unaligned
SET client_min_messages = error;
SET timezone = 'UTC';
-- functions whose bodies are read under the path of who calls them: every name and operator in these must be qualified
SELECT p.proname FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
WHERE p.pronamespace = 'perfmodel'::regnamespace AND l.lanname IN ('sql', 'plpgsql') AND p.prosqlbody IS NULL
  AND NOT EXISTS (SELECT FROM unnest(p.proconfig) AS c WHERE c LIKE 'search_path=pg_catalog, pg_temp') ORDER BY 1;
-- what is called
CREATE FUNCTION helper.trapped(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLERRM;
END $$;
\set cnn 08081204746573743acc010a2c0a01780a01770a01621201631a0566697273742204436f6e762a110a04706164734001400140014001a001070a0c0a0163120172220452656c750a0f0a01721201662207466c617474656e0a210a01660a01670a0168120179220447656d6d2a0d0a067472616e73421801a00102120474696e792a0d080408030803080310014201772a07080410014201622a0a080a08800210014201672a07080a10014201685a1c0a017812170a15080112110a0312014e0a0208030a0208080a02080862090a017912040a02080142040a00100d
CREATE TABLE helper.hostile_onnx AS SELECT decode(:'cnn', 'hex') AS model;
CREATE TABLE helper.hostile_graph AS SELECT name, helper.cnn(name, width, depth) AS doc
FROM generate_series(2, 7) AS depth, unnest('{16,40}'::int[]) AS width, LATERAL (SELECT format('hostile%s@%s', depth, width) AS name) AS n;
CREATE TABLE helper.hostile_jobs AS SELECT i AS job_id, 'hostile2@16'::text AS graph, 'T4'::text AS gpu, 1 AS gpu_count, 8 AS batch, 1000 AS steps, ' 8'::text AS words, 'us'::text AS team,
    '2026-01-01 10:00+00'::timestamptz AS submitted_at, '2026-01-01 10:01+00'::timestamptz AS started_at, NULL::timestamptz AS finished_at, NULL::float8 AS duration_s,
    '2026-02-01 10:00+00'::timestamptz AS deadline FROM generate_series(1, 2) AS i;
CREATE TABLE helper.hostile_log AS SELECT i AS job_id, 'hostile2@16'::text AS graph, 'T4'::text AS gpu, 1 AS gpu_count, 8 AS batch, 100000::numeric AS steps, '2026-01-01 10:00'::timestamp AS submitted_at,
    '2026-01-01 10:01'::timestamp AS started_at, '2026-01-01 11:01'::timestamp AS finished_at, 3600::numeric AS duration_s FROM generate_series(1, 3) AS i;
-- each part sees what those before it have stored
CREATE TABLE helper.hostile_call (nr int GENERATED ALWAYS AS IDENTITY, statement text, part int DEFAULT 1);
INSERT INTO helper.hostile_call (statement) VALUES
    ($$SELECT perfmodel.load_graph(doc) FROM helper.hostile_graph$$), ($$SELECT perfmodel.load_graph(doc) FROM helper.hostile_graph$$),
    ($$SELECT perfmodel.onnx_to_graph(model), perfmodel.load_onnx('hostile onnx', model) FROM helper.hostile_onnx$$),
    ($$SELECT perfmodel.load_graph(perfmodel.decoder_graph('hostile decoder', 2, 64, 4, 16, 100, style), name => s.style) FROM pg_catalog.unnest('{llama,gpt}'::pg_catalog.text[]) AS s(style)$$),
    ($$INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms, peak_memory_mb, framework, measured_at) SELECT g.graph_id, d.gpu, b.batch,
         ((g.nodes OPERATOR(pg_catalog.+) b.batch)::pg_catalog.float8 OPERATOR(pg_catalog./) d.rate::pg_catalog.float8) OPERATOR(pg_catalog.*) (1.3::pg_catalog.float8 OPERATOR(pg_catalog.^) (g.graph_id OPERATOR(pg_catalog.%) 3)::pg_catalog.float8),
         1000::pg_catalog.float8 OPERATOR(pg_catalog.+) b.batch::pg_catalog.float8, 'pytorch 2.1', '2026-01-01'
       FROM perfmodel.graph AS g, (VALUES ('t4', 10), ('rtx_3090', 30)) AS d(gpu, rate), pg_catalog.unnest('{8,64}'::pg_catalog.int4[]) AS b(batch) WHERE g.name OPERATOR(pg_catalog.~~) 'hostile_@%'$$),
    ($$INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms, world_size) SELECT p.graph_id, p.gpu, p.batch, p.step_ms OPERATOR(pg_catalog.*) 1.2::pg_catalog.float8, w.n
       FROM perfmodel.profile AS p, pg_catalog.unnest('{2,4}'::pg_catalog.int4[]) AS w(n) WHERE p.measured_at OPERATOR(pg_catalog.=) '2026-01-01' AND p.batch OPERATOR(pg_catalog.=) 8$$),
    ($$INSERT INTO perfmodel.op_profile (operator, gpu, batch, forward_ms, backward_ms) VALUES ('{"format":"perfmodel-graph/1","nodes":[{"id":0,"op":"Input","inputs":[],"shape":[1,8],"batch_dim":0},
       {"id":1,"op":"Relu","inputs":[0],"shape":[1,8],"batch_dim":0}]}', 't4', 8, 1, 1)$$),
    ($$INSERT INTO perfmodel.price (gpu, provider, usd_per_hour) VALUES ('t4', 'hostile', 1)$$),
    ($$INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES ('gpu', 'hostile card', 'T4'), ('graph', 'hostile net', 'hostile2@16')$$),
    ($$INSERT INTO perfmodel.convergence (graph_id, dataset, target, batch, reached, samples_to_target) SELECT perfmodel.graph_id('hostile2@16'), 'hostile', '', b, true, 1000000 FROM pg_catalog.unnest('{8,32,128}'::pg_catalog.int4[]) AS b$$);
ALTER TABLE helper.hostile_call ALTER part SET DEFAULT 2;
INSERT INTO helper.hostile_call (statement) VALUES
    ($$SELECT perfmodel.gpu_name('RTX_3090'), perfmodel.gpu_name('hostile card'), perfmodel.family_of('resnet50'), perfmodel.find_graph('hostile net'), perfmodel.find_gpu('gpu:t4:2'), perfmodel.gres_count('gpu:t4:2'),
       perfmodel.find_dtype('half'), perfmodel.find_layout('channels_last'), perfmodel.find_optimizer('AdamW'), perfmodel.usable_memory_mb('T4')$$),
    ($$SELECT k.* FROM perfmodel.kinds() AS k$$), ($$SELECT k.* FROM perfmodel.memory_kinds() AS k$$), ($$SELECT b.* FROM perfmodel.blas_info() AS b, perfmodel.version() AS v$$),
    ($$SELECT perfmodel.estimate_training('linear')$$), ($$SELECT perfmodel.train('hostile', 'linear')$$),
    ($$SELECT perfmodel.train('hostile op', 'opclass')$$), ($$SELECT perfmodel.train('hostile from', 'linear', (SELECT pg_catalog.array_agg(p.profile_id) FROM perfmodel.profile AS p WHERE p.measured_at OPERATOR(pg_catalog.=) '2026-01-01'))$$),
    ($$SELECT perfmodel.train('hostile net', options => '{"epochs": 1, "hidden": 8, "calibration_folds": 0}')$$), ($$SELECT perfmodel.train('hostile again', options => '{"epochs": 1}', warm_start => 'hostile net')$$),
    ($$SELECT perfmodel.activate_predictor('hostile op')$$), ($$SELECT f.* FROM perfmodel.fit_cluster('any', predictor => 'hostile') AS f$$);
ALTER TABLE helper.hostile_call ALTER part SET DEFAULT 3;
INSERT INTO helper.hostile_call (statement) VALUES
    ($$SELECT perfmodel.predict_train_time(perfmodel.graph_id('hostile2@16'), 'T4', 8, predictor => 'hostile')$$),
    ($$SELECT p.* FROM perfmodel.predict(perfmodel.graph_id('hostile2@16'), 'T4', 8, world_size => 4) AS p$$),
    ($$SELECT p.* FROM perfmodel.predict_many(ARRAY[perfmodel.graph_id('hostile2@16')], '{T4}', '{8}') AS p$$), ($$SELECT p.* FROM perfmodel.what_if(perfmodel.graph_id('hostile2@16'), '{T4,A100}', '{8}') AS p$$),
    ($$SELECT p.* FROM perfmodel.ask('{"graph": "hostile2@16", "gpu": "T4", "batch": 8}') AS p$$), ($$SELECT p.* FROM perfmodel.ask_many(ARRAY['{"graph": "hostile2@16", "gpu": "T4", "batch": 8}']::pg_catalog.jsonb[]) AS p$$),
    ($$SELECT p.* FROM perfmodel.predict_from((SELECT pg_catalog.min(p.profile_id) FROM perfmodel.profile AS p WHERE p.measured_at OPERATOR(pg_catalog.=) '2026-01-01'), 'A100') AS p$$),
    ($$SELECT p.* FROM perfmodel.predict_from_step(perfmodel.graph_id('hostile2@16'), 'T4', 5, 'A100', 8) AS p$$), ($$SELECT p.* FROM perfmodel.predict_job(perfmodel.graph_id('hostile2@16'), 'T4', 8, samples => 1e6) AS p$$),
    ($$SELECT e.* FROM perfmodel.explain_train_time(perfmodel.graph_id('hostile2@16'), 'T4', 8) AS e$$), ($$SELECT e.* FROM perfmodel.step_sensitivity(perfmodel.graph_id('hostile2@16'), 'T4', 8) AS e$$),
    ($$SELECT e.* FROM perfmodel.what_if_change(perfmodel.graph_id('hostile2@16'), 'T4', 8) AS e$$), ($$SELECT e.* FROM perfmodel.computed_change(perfmodel.graph_id('hostile2@16'), 'T4', 8, 'fused optimizer') AS e$$),
    ($$SELECT e.* FROM perfmodel.colocate(perfmodel.graph_id('hostile2@16'), 8, perfmodel.graph_id('hostile3@16'), 8, 'T4') AS e$$),
    ($$SELECT m.* FROM perfmodel.calibrate_memory() AS m$$), ($$SELECT m.* FROM perfmodel.compare_memory() AS m$$), ($$SELECT m.* FROM perfmodel.predict_memory(perfmodel.graph_id('hostile2@16'), 'T4', 8) AS m$$),
    ($$SELECT m.* FROM perfmodel.explain_memory(perfmodel.graph_id('hostile2@16'), 'T4', 8) AS m$$), ($$SELECT m.* FROM perfmodel.memory_timeline(perfmodel.graph_id('hostile2@16'), 'T4', 8) AS m$$),
    ($$SELECT m.* FROM perfmodel.what_would_fit(perfmodel.graph_id('hostile2@16'), 'T4', 8) AS m$$), ($$SELECT perfmodel.max_batch(perfmodel.graph_id('hostile2@16'), 'T4')$$),
    ($$SELECT e.* FROM perfmodel.evaluate('hostile op') AS e$$), ($$SELECT e.* FROM perfmodel.cross_validate('linear', folds => 2) AS e$$), ($$SELECT l.* FROM perfmodel.leaderboard('{linear,opclass}', '{structure}', 2) AS l$$),
    ($$SELECT k.* FROM perfmodel.known_gpus() AS k$$), ($$SELECT k.* FROM perfmodel.trained_profiles() AS k$$), ($$SELECT k.* FROM perfmodel.unseen_profiles('hostile from') AS k$$), ($$SELECT k.* FROM perfmodel.card_factors() AS k$$),
    ($$SELECT c.* FROM perfmodel.corrections() AS c$$), ($$SELECT r.* FROM perfmodel.recalibrate('hostile op', (SELECT pg_catalog.array_agg(p.profile_id) FROM perfmodel.profile AS p WHERE p.measured_at OPERATOR(pg_catalog.=) '2026-01-01'), 'hostile corrected') AS r$$),
    ($$SELECT r.* FROM perfmodel.residuals() AS r$$), ($$SELECT r.* FROM perfmodel.drift(by => '{gpu,framework}') AS r$$), ($$SELECT r.* FROM perfmodel.compare_predictors('hostile', 'hostile op') AS r$$),
    ($$SELECT p.* FROM perfmodel.suggest_probes('A40', 2) AS p$$), ($$SELECT p.* FROM perfmodel.proportion_bounds(3, 10) AS p$$),
    ($$SELECT v.* FROM perfmodel.predictors AS v$$), ($$SELECT v.* FROM perfmodel.active_errors AS v$$), ($$SELECT v.* FROM perfmodel.active_drift AS v$$), ($$SELECT v.* FROM perfmodel.gpu_support AS v$$), ($$SELECT v.* FROM perfmodel.training_status AS v$$),
    ($$SELECT s.* FROM perfmodel.scaling_curve(perfmodel.graph_id('hostile2@16'), 'T4', 8) AS s$$), ($$SELECT perfmodel.collective_ms('all_reduce', 1e6, 8)$$),
    ($$SELECT f.* FROM perfmodel.fit_cluster('any fitted') AS f$$),
    ($$SELECT s.* FROM perfmodel.samples_to_target(perfmodel.graph_id('hostile2@16'), '{8,16}', 'hostile') AS s$$), ($$SELECT s.* FROM perfmodel.time_to_target(perfmodel.graph_id('hostile2@16'), 'T4', 8, 'hostile') AS s$$),
    ($$SELECT s.* FROM perfmodel.goodput(perfmodel.graph_id('hostile2@16'), 'T4', 8, 8, 'hostile') AS s$$), ($$SELECT s.* FROM perfmodel.best_batch(perfmodel.graph_id('hostile2@16'), 'T4', 'hostile') AS s$$),
    ($$SELECT n.* FROM perfmodel.resolve_job_names('helper.hostile_jobs') AS n$$), ($$SELECT n.* FROM perfmodel.resolve_job_names(graphs => '{hostile2,hostile3@40}', gpus => '{t4,hostile card}', dtypes => '{half}') AS n$$),
    ($$SELECT f.* FROM perfmodel.forecast_jobs('helper.hostile_jobs', at => '2026-01-01 12:00+00') AS f$$), ($$SELECT f.* FROM perfmodel.forecast_jobs('helper.hostile_log', at => '2026-01-01 10:30+00') AS f$$),
    ($$SELECT f.* FROM perfmodel.queue_order('helper.hostile_jobs', at => '2026-01-01 12:00+00') AS f$$), ($$SELECT f.* FROM perfmodel.queue_eta('helper.hostile_jobs', free => '{"T4": 1}', at => '2026-01-01 12:00+00') AS f$$),
    ($$SELECT f.* FROM perfmodel.queue_order_arrays('{a,b}', '{T4,t4}', '{1,1}', '{10,20}') AS f$$), ($$SELECT f.* FROM perfmodel.deadline_probability('helper.hostile_jobs', free => '{"T4": 1}', at => '2026-01-01 12:00+00') AS f$$),
    ($$SELECT f.* FROM perfmodel.fill_windows('helper.hostile_jobs', '{}', '{"[2026-01-02,2026-01-03)"}'::pg_catalog.tstzrange[], '{T4}', '{1}', at => '2026-01-01 12:00+00') AS f$$),
    ($$SELECT f.* FROM perfmodel.what_if_jobs('helper.hostile_jobs', gpus => '{T4,A100}') AS f$$),
    ($$SELECT f.* FROM perfmodel.place('helper.hostile_jobs', nodes => '{n1}', node_gpus => '{T4}', node_free => '{1}', predictor => 'hostile', max_slowdown => 2) AS f$$),
    ($$SELECT perfmodel.job_columns('helper.hostile_jobs', '{}', '{gpu,gpu_count}', '{NULL,NULL}', 'docs/report.md'), perfmodel.job_column('helper.hostile_jobs', 'words', 'batch', 'integer'), perfmodel.job_ran('helper.hostile_jobs')$$),
    ($$SELECT perfmodel.report_jobs('helper.hostile_jobs')$$), ($$SELECT f.* FROM perfmodel.finished_jobs('helper.hostile_log') AS f$$), ($$SELECT c.* FROM perfmodel.collect_from_jobs('helper.hostile_log') AS c$$),
    ($$SELECT perfmodel.plot_step(perfmodel.graph_id('hostile2@16'), 'T4', 8), perfmodel.plot_memory(perfmodel.graph_id('hostile2@16'), 'T4', 8), perfmodel.plot_memory_timeline(perfmodel.graph_id('hostile2@16'), 'T4', 8),
       perfmodel.plot_scaling(perfmodel.graph_id('hostile2@16'), 'T4', 8), perfmodel.plot_errors(), perfmodel.plot_coverage(), perfmodel.plot('bars', '{1,2}', '{3,4}')$$),
    ($$SELECT perfmodel.plot_queue('helper.hostile_jobs', free => '{"T4": 1}', at => '2026-01-01 12:00+00')$$),
    ($$SELECT perfmodel.report('helper.hostile_log')$$), ($$SELECT perfmodel.report(queue => 'helper.hostile_jobs', free => '{"T4": 1}')$$), ($$SELECT perfmodel.report_diff('hostile', 'hostile op')$$),
    ($$CALL perfmodel.nightly('helper.hostile_log', background => false)$$),
    ($$UPDATE perfmodel.profile SET spread = 0.1 WHERE measured_at OPERATOR(pg_catalog.=) '2026-01-01'$$), ($$UPDATE perfmodel.cluster SET adapters = 2 WHERE NOT builtin$$), ($$UPDATE perfmodel.gpu SET mem_bw_gbs = 300 WHERE name OPERATOR(pg_catalog.=) 'A40'$$),
    ($$SELECT perfmodel.drop_predictor('hostile')$$), ($$DELETE FROM perfmodel.graph WHERE name OPERATOR(pg_catalog.=) 'hostile onnx'$$);
-- Traps: an operator for each pair of common types, those that the server lacks among them; a function for each of the server's; tables and types.
CREATE FUNCTION helper.plant_traps() RETURNS void LANGUAGE plpgsql AS $plant$
DECLARE
    a text; b text; o text; f record;
    types text[] := '{int2,int4,int8,float4,float8,numeric,text,varchar,name,bool,oid,date,timestamp,timestamptz,interval,jsonb,bytea,text[],int8[],float8[]}';
    trap text := ' LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION ''trapped by %'', ''TRAP''; END $$';
BEGIN
    CREATE SCHEMA evil;
    FOREACH a IN ARRAY types LOOP
        EXECUTE format('CREATE FUNCTION evil.minus(%s) RETURNS %1$s', a) || replace(trap, 'TRAP', '- ' || a);
        EXECUTE format('CREATE OPERATOR evil.- (RIGHTARG = %s, FUNCTION = evil.minus)', a);
        FOREACH b IN ARRAY types LOOP
            EXECUTE format('CREATE FUNCTION evil.compare(%s, %s) RETURNS boolean', a, b) || replace(trap, 'TRAP', a || ', ' || b);
            EXECUTE format('CREATE FUNCTION evil.combine(%s, %s) RETURNS %1$s', a, b) || replace(trap, 'TRAP', a || ', ' || b);
            FOREACH o IN ARRAY '{=,<>,<,>,<=,>=,~,~~,!~,!~~,~*,@>,?}'::text[] LOOP
                EXECUTE format('CREATE OPERATOR evil.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = evil.compare)', o, a, b);
            END LOOP;
            FOREACH o IN ARRAY '{+,-,*,/,%,||,->,->>,^}'::text[] LOOP
                EXECUTE format('CREATE OPERATOR evil.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = evil.combine)', o, a, b);
            END LOOP;
        END LOOP;
    END LOOP;
    FOR f IN SELECT p.proname, pg_get_function_identity_arguments(p.oid) AS arguments, CASE WHEN p.proretset THEN 'SETOF ' ELSE '' END || format_type(p.prorettype, NULL) AS result
             FROM pg_proc AS p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind <> 'p'
                 AND NOT (p.prorettype || ' ' || p.proargtypes::text)::oidvector::oid[] && '{internal,cstring,trigger,event_trigger,"\"any\""}'::regtype[]::oid[] LOOP
        BEGIN
            EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS %s', f.proname, f.arguments, f.result) || replace(trap, 'TRAP', f.proname);
        EXCEPTION WHEN OTHERS THEN
            NULL; -- of arguments that only the server's own may have
        END;
    END LOOP;
    FOREACH a IN ARRAY '{graph,profile,gpu,predictor,pg_class,pg_extension,pg_settings}'::text[] LOOP
        EXECUTE format('CREATE TABLE evil.%I (x int)', a);
    END LOOP;
    FOREACH a IN ARRAY '{int2,int4,int8,float8,numeric,text,name,bool,timestamptz,interval,jsonb,bytea,regclass}'::text[] LOOP
        EXECUTE format('CREATE TYPE evil.%I AS (x int)', a);
    END LOOP;
END $plant$;
\c
\pset format unaligned
SET client_min_messages = error;
SET timezone = 'UTC';
-- in one transaction, which leaves nothing behind
BEGIN;
SELECT helper.plant_traps();
SELECT count(*) > 8000 AS operators FROM pg_operator WHERE oprnamespace = 'evil'::regnamespace;
SELECT count(*) > 2000 AS functions FROM pg_proc WHERE pronamespace = 'evil'::regnamespace;
SET search_path = evil, pg_catalog;
-- they are sprung by what the server has not, and by what it has
SELECT helper.trapped('SELECT nullif(1.5::float, 0)'), helper.trapped('SELECT 1 = 1'), helper.trapped('SELECT now()'), helper.trapped('SELECT array_agg(1)');
-- none of these is to end in an error
SELECT c.statement, c.error FROM (SELECT h.statement, helper.trapped(h.statement) AS error FROM helper.hostile_call AS h WHERE h.part OPERATOR(pg_catalog.=) 1 ORDER BY h.nr) AS c WHERE c.error IS NOT NULL;
SELECT c.statement, c.error FROM (SELECT h.statement, helper.trapped(h.statement) AS error FROM helper.hostile_call AS h WHERE h.part OPERATOR(pg_catalog.=) 2 ORDER BY h.nr) AS c WHERE c.error IS NOT NULL;
SELECT c.statement, c.error FROM (SELECT h.statement, helper.trapped(h.statement) AS error FROM helper.hostile_call AS h WHERE h.part OPERATOR(pg_catalog.=) 3 ORDER BY h.nr) AS c WHERE c.error IS NOT NULL;
ROLLBACK;
-- a session that reads backslashes in plain literals, from its start
\c
SET client_min_messages = warning;
SET standard_conforming_strings = off;
SELECT perfmodel.job_columns('helper.hostile_jobs', '{}', '{gpu,gpu_count}', '{NULL,NULL}', 'docs/report.md');
CREATE TEMP TABLE texts AS SELECT ' 8'::text AS batch;
SELECT perfmodel.job_column('texts', 'batch', 'batch', 'integer') IS NOT NULL AS written;
RESET standard_conforming_strings;
DROP TABLE helper.hostile_jobs, helper.hostile_log, helper.hostile_graph, helper.hostile_onnx, helper.hostile_call;
DROP FUNCTION helper.trapped, helper.plant_traps;
