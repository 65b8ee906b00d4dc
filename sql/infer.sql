-- mode => 'inference': the forward pass alone.
\pset format unaligned
SET client_min_messages = warning;
SELECT perfmodel.graph_id('anet4@16') AS g \gset

-- between a quarter and half of the training step with every kind, and a larger batch takes longer
CREATE TEMPORARY TABLE kind AS SELECT name, kind FROM perfmodel.predictor WHERE quantity = 'step_ms';
SELECT count(*) > 2 AS kinds, bool_and(i.ms BETWEEN 0.2 * t.ms AND 0.5 * t.ms) AS share, bool_and(l.ms > i.ms) AS longer
FROM kind, LATERAL perfmodel.predict_train_time(:g, 'T4', 64, predictor => name) AS t(ms),
     LATERAL perfmodel.predict_train_time(:g, 'T4', 64, predictor => name, mode => 'inference') AS i(ms),
     LATERAL perfmodel.predict_train_time(:g, 'T4', 512, predictor => name, mode => 'inference') AS l(ms);

-- other words for it, and for training; the answer to one is not remembered as that to the other
SELECT count(DISTINCT perfmodel.predict_train_time(:g, 'T4', 8, mode => m)) AS answers
FROM unnest('{inference,eval,Predict,INFERENCE,forward}'::text[]) AS m;
SELECT count(DISTINCT perfmodel.predict_train_time(:g, 'T4', 8, mode => m)) AS answers
FROM unnest('{train,eval,Training,inference,train}'::text[]) AS m;
SELECT perfmodel.predict_train_time(:g, 'T4', 8, mode => 'train') = perfmodel.predict_train_time(:g, 'T4', 8) AS usual,
       perfmodel.predict_train_time(:g, 'T4', 8, mode => NULL) AS nothing;
-- nothing is updated
SELECT count(DISTINCT perfmodel.predict_train_time(:g, 'T4', 8, optimizer => o, mode => 'inference')) AS answers
FROM unnest('{sgd,adam,none,sgd_momentum}'::text[]) AS o;

-- never measured: said, and an interval that is wider than that of the step
SELECT p.in_domain, p.note, p.reasons, p.step_ms_low < p.step_ms AND p.step_ms < p.step_ms_high AS inside,
       p.step_ms_high / p.step_ms > t.step_ms_high / t.step_ms AS wider, helper.close(p.samples_per_s, 8000 / p.step_ms) AS rate
FROM perfmodel.predict(:g, 'T4', 8, mode => 'inference') AS p, perfmodel.predict(:g, 'T4', 8) AS t;

-- the same number from every function that predicts
SELECT p.step_ms = t.ms AND p.step_ms = m.step_ms AND p.step_ms = w.step_ms AND p.step_ms = a.step_ms AS same,
       helper.close(e.step_ms, t.ms) AS explained, e.forward = e.step_ms AS forward, e.other
FROM perfmodel.predict_train_time(:g, 'T4', 8, mode => 'eval') AS t(ms),
     perfmodel.predict(:g, 'T4', 8, mode => 'inference') AS p,
     perfmodel.predict_many(ARRAY[:g], '{T4}', '{8}', mode => 'inference') AS m,
     perfmodel.what_if(:g, '{T4}', '{8}', mode => 'inference') AS w,
     perfmodel.ask(jsonb_build_object('graph', 'anet4@16', 'gpu', 'T4', 'batch', 8, 'mode', 'inference')) AS a,
     (SELECT sum(step_ms) AS step_ms, sum(coalesce(forward_ms, step_ms)) AS forward, sum(backward_ms) + sum(update_ms) AS other
      FROM perfmodel.explain_train_time(:g, 'T4', 8, mode => 'inference')) AS e;

-- memory: weights, and the outputs that somebody still has to read
SELECT i.gradients_mb, i.optimizer_mb, i.weights_mb = t.weights_mb AS weights, i.activations_mb < t.activations_mb / 3 AS less, i.in_domain, i.note,
       w.peak_mb = i.peak_mb AS what_if,
       perfmodel.max_batch(:g, 'T4', mode => 'inference') > 3 * perfmodel.max_batch(:g, 'T4') AS more
FROM perfmodel.predict_memory(:g, 'T4', 256, mode => 'inference') AS i, perfmodel.predict_memory(:g, 'T4', 256) AS t,
     perfmodel.what_if(:g, '{T4}', '{256}', mode => 'inference') AS w;
SELECT DISTINCT phase FROM perfmodel.memory_timeline(:g, 'T4', 8, mode => 'inference') ORDER BY 1;
SELECT DISTINCT part FROM perfmodel.explain_memory(:g, 'T4', 8, mode => 'inference') ORDER BY 1;

-- errors
SELECT helper.error_of(format('SELECT perfmodel.%s', replace(call, 'G', :'g')))
FROM unnest(ARRAY['predict_train_time(G, ''T4'', 8, mode => ''test'')', 'predict_train_time(G, ''T4'', 8, mode => '''')',
    'predict(G, ''T4'', 8, mode => ''inference'', world_size => 2)', 'predict(G, ''T4'', 8, mode => ''inference'', parallel => ''{"ep": 2}'')', 'predict_memory(G, ''T4'', 8, mode => ''inference'', world_size => 2)',
    'ask(''{"graph": "anet4@16", "gpu": "T4", "batch": 8, "mode": 1}'')']) AS call;
SELECT step_ms, note, reasons FROM perfmodel.predict(:g, 'T4', 8, mode => 'test', on_error => 'null');
SELECT step_ms, note FROM perfmodel.ask('{"graph": "anet4@16", "gpu": "T4", "batch": 8, "mode": null}');

-- measurements: words are spelled
BEGIN;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, mode, step_ms) VALUES (:g, 'T4', 8, 'Eval', 1) RETURNING mode;
SELECT helper.error_of(format('INSERT INTO perfmodel.profile (graph_id, gpu, batch, mode, step_ms) VALUES (%s, ''T4'', 8, ''test'', 1)', :g));
ROLLBACK;

-- Learning. A T4 whose passes take 0.6 of a third of the step, on some of the networks; nothing of the other card.
BEGIN;
CREATE TEMPORARY TABLE net AS SELECT graph_id, name, row_number() OVER (ORDER BY name) AS nr FROM perfmodel.graph WHERE family LIKE '_net';
CREATE FUNCTION pg_temp.pass_ms(graph_id bigint, batch int) RETURNS float8 LANGUAGE sql AS $$
    SELECT 0.2 * (0.05 * g.nodes + 3 * batch * (SELECT sum(flops_forward) FROM perfmodel.graph_node AS n WHERE n.graph_id = g.graph_id) / (8.1e9 * 0.4))
    FROM perfmodel.graph AS g WHERE g.graph_id = $1 $$;
SELECT perfmodel.train('steps', 'opclass') > 0 AS trained;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, mode, step_ms, framework)
SELECT graph_id, 'T4', batch, 'inference', pg_temp.pass_ms(graph_id, batch), 'pytorch 2.1' FROM net, unnest('{8,64}'::int[]) AS batch WHERE nr % 2 = 0;
CREATE TEMPORARY TABLE pass AS SELECT array_agg(profile_id) AS ids, count(*) AS n FROM perfmodel.profile WHERE mode = 'inference';
SELECT perfmodel.train('passes', 'opclass') > 0 AS trained;
SELECT perfmodel.train('some passes', 'opclass', (SELECT array_agg(profile_id) FROM perfmodel.profile AS p JOIN net USING (graph_id)
                                                  WHERE p.mode = 'train' OR nr <= 4)) > 0 AS trained;
SELECT perfmodel.train('passes small', options => '{"epochs":8,"d_model":16,"heads":2,"layers":1,"d_operator":8,"hidden":8,"seed":7}') > 0 AS trained;
-- on the networks that no pass was of
SELECT predictor, avg(abs(perfmodel.predict_train_time(graph_id, 'T4', batch, predictor => predictor, mode => 'inference') / pg_temp.pass_ms(graph_id, batch) - 1)) < 0.1 AS near
FROM unnest('{steps, passes}'::text[]) AS predictor, net, unnest('{8,64}'::int[]) AS batch WHERE nr % 2 = 1 GROUP BY 1 ORDER BY 1;
-- training steps are predicted as before; passes are rows that a predictor learned from, and that change its hash
SELECT bool_and(perfmodel.predict_train_time(graph_id, 'T4', 8, predictor => 'passes') = perfmodel.predict_train_time(graph_id, 'T4', 8, predictor => 'steps')) AS same FROM net;
SELECT name, n_profiles, (SELECT count(*) FROM perfmodel.learned_profiles(predictor_id, false) AS l WHERE l = ANY ((SELECT ids FROM pass)::bigint[])) AS passes,
       profiles_hash = (SELECT profiles_hash FROM perfmodel.predictor WHERE name = 'steps') AS same_hash
FROM perfmodel.predictor WHERE name IN ('steps', 'passes', 'some passes') ORDER BY name;
-- where passes were measured, the question is in the domain
SELECT predictor, gpu, in_domain, note, step_ms_low <= step_ms AND step_ms <= step_ms_high AS inside
FROM unnest('{passes, some passes}'::text[]) AS predictor, unnest('{T4, RTX 3090}'::text[]) AS gpu,
     perfmodel.predict(:g, gpu, 8, predictor => predictor, mode => 'inference');
SELECT p.reasons, p.step_ms_high / p.step_ms < f.step_ms_high / f.step_ms AS narrower
FROM perfmodel.predict(:g, 'T4', 8, predictor => 'passes', mode => 'inference') AS p, perfmodel.predict(:g, 'T4', 8, predictor => 'steps', mode => 'inference') AS f;
-- a part of the pass each, also here
SELECT helper.close(sum(e.step_ms), perfmodel.predict_train_time(:g, 'T4', 8, predictor => 'passes small', mode => 'inference')) AS parts
FROM perfmodel.explain_train_time(:g, 'T4', 8, predictor => 'passes small', mode => 'inference') AS e;
-- evaluate() takes passes that are named, with their mode; what takes training steps alone says so
SELECT grouped_by, group_name, n = (SELECT n FROM pass) AS all_rows, mape_pct < 10 AS near
FROM perfmodel.evaluate('passes', (SELECT ids FROM pass)) WHERE grouped_by IN ('overall', 'training');
SELECT n = (SELECT count(*) FROM perfmodel.profile WHERE mode = 'train') AS steps_alone FROM perfmodel.evaluate('passes') WHERE grouped_by = 'overall';
SELECT regexp_replace(helper.error_of(format('SELECT perfmodel.%s', replace(call, 'IDS', quote_literal((SELECT ids FROM pass))))), '\d+', 'N', 'g')
FROM unnest(ARRAY['recalibrate(''passes'', IDS)', 'cross_validate(''linear'', IDS)', 'train(''nothing'', ''opclass'', IDS)']) AS call;
-- recalibrate takes passes: those on one card move inference there, and nothing else
SELECT new_name, n_profiles = (SELECT n FROM pass) AS all_rows, mape_before_pct > 25 AS far, mape_after_pct < 15 AS near
FROM perfmodel.recalibrate('steps', (SELECT ids FROM pass), 'steps and passes');
SELECT mode, gpu, helper.close(n.step_ms, b.step_ms) AS same, n.in_domain, n.reasons
FROM unnest('{train, inference}'::text[]) AS mode, unnest('{T4, RTX 3090}'::text[]) AS gpu,
     perfmodel.predict(:g, gpu, 8, predictor => 'steps', mode => mode) AS b, perfmodel.predict(:g, gpu, 8, predictor => 'steps and passes', mode => mode) AS n;
-- without a choice, it takes those that are new
SELECT n_profiles = (SELECT count(*) FROM perfmodel.profile AS p, perfmodel.predictor AS t WHERE t.name = 'some passes' AND p.world_size = 1
                     AND NOT p.profile_id = ANY (SELECT perfmodel.learned_profiles(t.predictor_id, false))) AS new_ones
FROM perfmodel.recalibrate('some passes', name => 'all the rest');
SELECT perfmodel.row_hash('1', 'T4', 8, 'fp32', 'nchw', NULL, 'sgd', 1) = perfmodel.row_hash('1', 'T4', 8, 'fp32', 'nchw', NULL, 'sgd', 1, 'train') AS usual,
       perfmodel.row_hash('1', 'T4', 8, 'fp32', 'nchw', NULL, 'sgd', 1) <> perfmodel.row_hash('1', 'T4', 8, 'fp32', 'nchw', NULL, 'sgd', 1, 'eval') AS other,
       perfmodel.row_hash('1', 'T4', 8, 'fp32', 'nchw', NULL, 'sgd', 1, 'test') AS nothing;
-- a device of which passes alone are known
SAVEPOINT alone;
UPDATE perfmodel.profile SET gpu = 'L4' WHERE mode = 'inference';
SELECT perfmodel.train('passes of an L4', 'opclass') > 0 AS trained, perfmodel.activate_predictor('passes of an L4') IS NOT NULL AS active;
SELECT gpu, networks > 0 AS networks, inference_networks = (SELECT count(DISTINCT structure) FROM perfmodel.profile JOIN perfmodel.graph USING (graph_id) WHERE mode = 'inference') AS passes,
       known_from FROM perfmodel.gpu_support WHERE gpu IN ('L4', 'T4') ORDER BY gpu;
ROLLBACK TO alone;
-- passes that contradict each other by a factor of 1e15: the interval holds everything, and the answer says why
UPDATE perfmodel.profile SET step_ms = CASE profile_id % 2 WHEN 0 THEN 1e-6 ELSE 1e9 END WHERE mode = 'inference';
SELECT perfmodel.train('absurd passes', 'opclass') > 0 AS trained;
SELECT level, in_domain, regexp_replace(note, '[0-9.]+e[+][0-9]+', 'N') AS note, reasons
FROM unnest('{0.5,0.9,0.99}'::float8[]) AS level, perfmodel.predict(:g, 'T4', 8, predictor => 'absurd passes', mode => 'inference', level => level);
ROLLBACK;
