-- A training stops soon after it is told to, and leaves nothing.
SET client_min_messages = error;
SET statement_timeout = '700ms';
SELECT clock_timestamp() AS t0 \gset
SELECT perfmodel.train('endless', options => '{"epochs":100000}');
RESET statement_timeout;
SELECT clock_timestamp() - :'t0' < '2.5 s' AS soon;
SET statement_timeout = '700ms';
SELECT clock_timestamp() AS t0 \gset
SELECT * FROM perfmodel.cross_validate(options => '{"epochs":100000}');
RESET statement_timeout;
SELECT clock_timestamp() - :'t0' < '2.5 s' AS soon;
SELECT count(*) FROM perfmodel.predictor WHERE name = 'endless';
-- of lists of millions of ids, those of measurements that there are count
SELECT helper.error_of($$SELECT perfmodel.compare_memory(array_fill(0::bigint, '{20000000}'))$$);
SELECT helper.error_of($$SELECT perfmodel.fit_cluster('any', 'nowhere', array_fill(0::bigint, '{20000000}'))$$);
-- the session is as good as before, and so is its memory
SELECT count(*) AS left_over FROM pg_backend_memory_contexts WHERE name IN ('perfmodel train', 'perfmodel rows');
SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8) > 0 AS predicts;
