-- Questions: the optimizer, questions as jsonb, what is not known, and why.
\pset format unaligned
SET client_min_messages = warning;
SELECT perfmodel.graph_id('anet4@16') AS g \gset

-- the optimizer is a part of every question; the default is sgd_momentum
SELECT o, perfmodel.predict_train_time(:g, 'T4', 8, optimizer => o) > 0 AS positive,
       p.step_ms = perfmodel.predict_train_time(:g, 'T4', 8, optimizer => o) AS predict,
       m.step_ms = p.step_ms AS predict_many, w.step_ms = p.step_ms AS what_if, helper.close(e.step_ms, p.step_ms) AS explain, a.step_ms = p.step_ms AS ask
FROM unnest('{sgd,sgd_momentum,adam,AdamW,none}'::text[]) AS o, perfmodel.predict(:g, 'T4', 8, optimizer => o) AS p,
     perfmodel.predict_many(ARRAY[:g]::bigint[], '{T4}', '{8}', optimizer => o) AS m, perfmodel.what_if(:g, '{T4}', '{8}', optimizer => o) AS w,
     LATERAL (SELECT sum(step_ms) AS step_ms FROM perfmodel.explain_train_time(:g, 'T4', 8, optimizer => o)) AS e,
     perfmodel.ask(jsonb_build_object('graph_id', :g, 'gpu', 'T4', 'batch', 8, 'optimizer', o)) AS a;
SELECT perfmodel.predict_train_time(:g, 'T4', 8, optimizer => 'sgd_momentum') = perfmodel.predict_train_time(:g, 'T4', 8) AS usual,
       perfmodel.predict_train_time(:g, 'T4', 8, optimizer => NULL) AS unknown;
-- a predictor that looks at the update tells them apart, from the memo too
SELECT count(DISTINCT perfmodel.predict_train_time(:g, 'T4', 8, optimizer => o, predictor => 'roof')) > 1 AS differ
FROM unnest('{none,sgd,adam,none,sgd,adam}'::text[]) AS o;

-- ask: the same answer, whatever way the graph is named and the members are written
SELECT p = perfmodel.ask(q, 'line', 0.8) AS same
FROM perfmodel.predict(:g, 'T4', 8, 'amp', framework => 'pytorch 2.1', predictor => 'line', level => 0.8) AS p,
     unnest(ARRAY[jsonb_build_object('graph', 'anet4@16', 'gpu', 'Tesla T4', 'batch', 8, 'dtype', 'amp', 'framework', 'pytorch 2.1'),
                  jsonb_build_object('batch', 8, 'dtype', 'mixed', 'graph_id', :g, 'gpu', 't4', 'layout', 'NCHW', 'framework', 'pytorch 2.1', 'optimizer', 'sgd_momentum')]) AS q;
-- no answer where something is missing or null, and the note says what, whatever on_error is
SELECT a.step_ms > 0 AS answered, a.note, a.reasons, a = perfmodel.ask(q, on_error => 'null') AS same FROM unnest('{NULL,"{}","{\"graph\":\"anet4@16\",\"gpu\":\"T4\"}","{\"graph\":null,\"gpu\":\"T4\",\"batch\":8}","{\"graph_id\":null,\"gpu\":null,\"batch\":8,\"dtype\":null}","{\"graph\":\"nobody\",\"gpu\":\"T4\"}","{\"graph\":\"anet4@16\",\"gpu\":\"T4\",\"batch\":8,\"framework\":null}"}'::jsonb[]) AS q, perfmodel.ask(q) AS a;
SELECT helper.error_of(format('SELECT perfmodel.ask(%L)', q)) FROM unnest(ARRAY['[]', '7', '{"grahp":"a"}', '{"graph":7}', '{"batch":"8"}', '{"batch":1.5}',
    '{"grahp":null}', '{"graph":"anet4@16","graph_id":1,"gpu":"T4","batch":8}', '{"graph_id":1e30,"gpu":"T4","batch":8}', '{"graph":"anet4@16","gpu":"T4","batch":1e12}', '{"graph":"anet4@16","gpu":"T4","batch":-1e400}', '{"graph":"anet4@16","gpu":"T4","batch":8,"nodes":1e30}', '{"graph":"anet5@16","gpu":"T4","batch":8}']) AS q;
SELECT ordinality, step_ms > 0 AS answered, note, reasons FROM perfmodel.ask_many(ARRAY['{"graph":"anet4@16","gpu":"T4","batch":8}', NULL,
    '{"graph":"anet4@16","gpu":"T4","batch":8,"dtype":"half"}', '{"gpu":"T4","batch":8}']::jsonb[]);
SELECT count(*) FROM perfmodel.ask_many(NULL);

-- what is not known: an error that says which question it was, or a row that says why
SELECT perfmodel.predict_train_time(-7, 'T5', 8) FROM generate_series(1, 3);
SELECT * FROM perfmodel.ask_many(ARRAY['{"graph":"anet4@16","gpu":"T4","batch":8}', '{"graph_id":-7,"gpu":"T4","batch":0}']::jsonb[]);
SELECT j.gpu, j.batch, j.dtype, p.step_ms > 0 AS answered, p.note, p.reasons
FROM (VALUES (:g, 'T4', 8, 'float16'), (:g, 'T5', 8, 'fp32'), (:g, 'T4', 0, 'fp32'), (:g, 'T4', 8, 'fp9'), (-1, 'T4', 8, 'fp32')) AS j(graph_id, gpu, batch, dtype),
     LATERAL perfmodel.predict(j.graph_id, j.gpu, j.batch, j.dtype, on_error => 'null') AS p;
SELECT perfmodel.predict_train_time(:g, 'T5', 8, on_error => 'null') AS none,
       (SELECT reasons FROM perfmodel.what_if(:g, '{T5}', '{8}', on_error => 'null')) AS what_if,
       (SELECT array_agg(reasons[1] ORDER BY ordinality) FROM perfmodel.predict_many(ARRAY[:g, :g]::bigint[], '{T4,T5}', '{8,8}', optimizer => 'lion', on_error => 'null')) AS many,
       (SELECT reasons FROM perfmodel.ask('{"graph":"anet5@16","gpu":"T4","batch":8}', on_error => 'null')) AS ask;
SELECT helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''T4'', 8, on_error => ''ignore'')', :g));
-- NULL is the word without its quotes, and would make every prediction NULL.
SELECT helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''T4'', 8, on_error => NULL)', :g));
SELECT helper.error_of(format('SELECT * FROM perfmodel.what_if(%s, ''{T4}'', ''{8}'', on_error => NULL)', :g));
-- what is wrong with the predictor is an error all the same
SELECT helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''T4'', 8, predictor => ''lime'', on_error => ''null'')', :g));

-- names are cut between letters, those that are asked for and those that are there
SELECT helper.error_of(format('SELECT perfmodel.gpu_name(%L)', repeat('ü', 200))), (SELECT reasons FROM perfmodel.predict(:g, repeat('ü', 200), 8, on_error => 'null'));
BEGIN;
UPDATE perfmodel.graph SET name = repeat('ü', 200) WHERE graph_id = :g;
SELECT reasons FROM perfmodel.ask('{"graph":"anet5@16","gpu":"T4","batch":8}', on_error => 'null');
ROLLBACK;

-- codes of the causes beside the words
SELECT p.in_domain, p.reasons FROM (VALUES ('T4', 8, 'fp32'), ('A100', 8, 'fp32'), ('T4', 4096, 'amp'), ('T4', 1, 'fp32')) AS q(gpu, batch, dtype),
     LATERAL perfmodel.predict(:g, q.gpu, q.batch, q.dtype) AS p;
SELECT reasons FROM perfmodel.predict(:g, 'T4', 8, framework => 'abacus 1');

-- a short name is taken for one device, and the note says which, and which other one was in training
SELECT q.gpu, p.note FROM unnest('{A100,h100,a100-80gb,V100-32GB,T4,Tesla T4,rtx3090-24gb,NVIDIA A100-SXM4-40GB,A100 80GB PCIe}'::text[]) AS q(gpu), LATERAL perfmodel.predict(:g, q.gpu, 8) AS p;
BEGIN;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, framework, step_ms)
    SELECT graph_id, 'A100-PCIE-40GB', batch, framework, step_ms / 2 FROM perfmodel.profile WHERE gpu = 'T4' ORDER BY profile_id;
SELECT perfmodel.train('cards', 'linear') > 0 AS trained;
SELECT q.gpu, p.in_domain, p.note FROM unnest('{A100,A100-PCIE-40GB,H100}'::text[]) AS q(gpu), LATERAL perfmodel.predict(:g, q.gpu, 8, predictor => 'cards') AS p;
-- so does a measurement, once for each name in a statement
SET client_min_messages = notice;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms) SELECT :g, u.gpu, 8, 1 FROM generate_series(1, 3), unnest('{A100,H100,Tesla T4}'::text[]) AS u(gpu);
INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms) VALUES (:g, 'a100', 8, 1);
-- the new active predictor knows fewer devices than the one before
SELECT perfmodel.activate_predictor('cards') > 0 AS knows_more;
SELECT perfmodel.activate_predictor('line') > 0 AS knows_less;
SET client_min_messages = warning;
ROLLBACK;

-- names that may not be there
SELECT perfmodel.find_graph('anet4@16') = :g AS graph, perfmodel.find_graph('nobody') AS no_graph, perfmodel.find_gpu('tesla_t4') AS gpu, perfmodel.find_gpu('T5') AS no_gpu,
       perfmodel.find_dtype('torch.bfloat16') AS dtype, perfmodel.find_dtype('fp9') AS no_dtype, perfmodel.find_layout('channels_last') AS layout, perfmodel.find_layout('chw') AS no_layout, perfmodel.find_optimizer('AdamW') AS optimizer, perfmodel.find_optimizer('lion') AS no_optimizer;
