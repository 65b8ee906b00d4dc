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
       w.peak_memory_mb = i.peak_mb AS what_if,
       perfmodel.max_batch(:g, 'T4', mode => 'inference') > 3 * perfmodel.max_batch(:g, 'T4') AS more
FROM perfmodel.predict_memory(:g, 'T4', 256, mode => 'inference') AS i, perfmodel.predict_memory(:g, 'T4', 256) AS t,
     perfmodel.what_if(:g, '{T4}', '{256}', mode => 'inference') AS w;
SELECT DISTINCT phase FROM perfmodel.memory_timeline(:g, 'T4', 8, mode => 'inference') ORDER BY 1;
SELECT DISTINCT part FROM perfmodel.explain_memory(:g, 'T4', 8, mode => 'inference') ORDER BY 1;

-- errors
SELECT helper.error_of(format('SELECT perfmodel.%s', replace(call, 'G', :'g')))
FROM unnest(ARRAY['predict_train_time(G, ''T4'', 8, mode => ''test'')', 'predict_train_time(G, ''T4'', 8, mode => '''')',
    'predict(G, ''T4'', 8, mode => ''inference'', world_size => 2)', 'predict_memory(G, ''T4'', 8, mode => ''inference'', world_size => 2)',
    'ask(''{"graph": "anet4@16", "gpu": "T4", "batch": 8, "mode": 1}'')']) AS call;
SELECT step_ms, note, reasons FROM perfmodel.predict(:g, 'T4', 8, mode => 'test', on_error => 'null');
SELECT step_ms, note FROM perfmodel.ask('{"graph": "anet4@16", "gpu": "T4", "batch": 8, "mode": null}');

-- measurements: words are spelled
BEGIN;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, mode, step_ms) VALUES (:g, 'T4', 8, 'Eval', 1) RETURNING mode;
SELECT helper.error_of(format('INSERT INTO perfmodel.profile (graph_id, gpu, batch, mode, step_ms) VALUES (%s, ''T4'', 8, ''test'', 1)', :g));
ROLLBACK;
