-- One change at a time, and two trainings on one device.
\pset format unaligned
SET client_min_messages = warning;
SELECT perfmodel.graph_id('dnet7@32') AS g, perfmodel.graph_id('anet4@16') AS h \gset
SELECT c.change, c.step_ms > 0 AS step, c.factor > 0 AS factor, helper.close(c.samples_per_s, 1000 * CASE c.change WHEN 'half the batch' THEN 8 WHEN 'twice the batch' THEN 32 ELSE 16 END / c.step_ms) AS samples,
       c.saved_mb IS NOT NULL AS memory, c.fits, c.measured > 0 AS measured
FROM perfmodel.what_if_change(:g, 'T4', 16, predictor => 'roof') AS c;
-- as the functions say that are asked for it; what is so already is no change
SELECT helper.close(c.step_ms, perfmodel.predict_train_time(:g, 'T4', 16, 'amp', 'nhwc', predictor => 'roof')) AS both FROM perfmodel.what_if_change(:g, 'T4', 16, '{"amp and channels_last"}', predictor => 'roof') AS c WHERE change <> 'none';
SELECT array_agg(change) FROM perfmodel.what_if_change(:g, 'T4', 16, dtype => 'mixed', layout => 'channels_last', optimizer => 'AdamW', predictor => 'roof');
SELECT array_agg(round(factor::numeric, 3)), array_agg(saved_mb > 0) FROM perfmodel.what_if_change(:g, 'T4', 512, '{checkpointing}', predictor => 'roof');
SELECT helper.error_of(format('SELECT perfmodel.what_if_change(%s, ''T4'', 16, ''{faster}'')', :g));
SELECT helper.error_of(format('SELECT perfmodel.what_if_change(%s, ''T5'', 16)', :g)) ~ 'unknown GPU "T5"' AS unknown;
-- two of them need no more than the device has, or share it
SELECT slowdown_a >= 1 AND slowdown_a <= 2 AS slowdown, slowdown_a = slowdown_b AS same, helper.close(step_ms_a, slowdown_a * perfmodel.predict_train_time(:g, 'T4', 64, predictor => 'roof')) AS step,
       busy_a BETWEEN 0 AND 1 AND busy_b BETWEEN 0 AND 1 AS busy, fits, peak_mb > (perfmodel.predict_memory(:g, 'T4', 64)).peak_mb AS memory
FROM perfmodel.colocate(:g, 64, :h, 8, 'tesla_t4', predictor => 'roof');
