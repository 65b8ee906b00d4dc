-- Kinds, options and what train refuses before it starts.
\pset format unaligned
SET client_min_messages = warning;
SELECT helper.load_world() AS measurements;
SELECT DISTINCT kind FROM perfmodel.kinds() ORDER BY kind;
SELECT count(*) AS without_help FROM perfmodel.kinds() WHERE coalesce(help, '') = '' OR coalesce(summary, '') = '';
SELECT kind, option FROM perfmodel.kinds() WHERE type IN ('integer', 'number') AND NOT (initial::float8 BETWEEN minimum AND maximum);
SELECT kind, option FROM perfmodel.kinds() WHERE type = 'choice' AND initial <> ALL (choices);
SELECT kind FROM perfmodel.kinds() WHERE option = 'seed' ORDER BY kind;

SELECT regexp_replace(helper.error_of(q), '\d+; SELECT option', 'N; SELECT option') AS error_of FROM unnest(ARRAY[
    $$SELECT perfmodel.train(NULL)$$,
    $$SELECT perfmodel.train('')$$,
    $$SELECT perfmodel.train(E'\t ')$$,
    $$SELECT perfmodel.train('x', NULL)$$,
    $$SELECT perfmodel.train('x', 'magic')$$,
    $$SELECT perfmodel.train('x', 'linear', options => '[]')$$,
    $$SELECT perfmodel.train('x', 'linear', options => '3')$$,
    $$SELECT perfmodel.train('x', 'linear', options => '{"rigde":1}')$$,
    $$SELECT perfmodel.train('x', 'linear', options => '{"ridge":-1}')$$,
    $$SELECT perfmodel.train('x', 'linear', options => '{"ridge":"much"}')$$,
    $$SELECT perfmodel.train('x', 'linear', options => '{"ridge":null}')$$,
    $$SELECT perfmodel.train('x', 'linear', options => '{"ridge":[1]}')$$,
    $$SELECT perfmodel.train('x', 'linear', options => '{"ridge":true}')$$,
    $$SELECT perfmodel.train('x', 'linear', options => '{"ridge":1e400}')$$,
    $$SELECT perfmodel.train('x', options => '{"epochs":0}')$$,
    $$SELECT perfmodel.train('x', options => '{"epochs":1.5}')$$,
    $$SELECT perfmodel.train('x', options => '{"epochs":1,"learing_rate":1}')$$,
    $$SELECT perfmodel.train('x', options => '{"layer":1}')$$,
    $$SELECT perfmodel.train('x', options => '{"loss":"guess"}')$$,
    $$SELECT perfmodel.train('x', options => '{"loss":1}')$$,
    $$SELECT perfmodel.train('x', options => '{"merge":"maybe"}')$$,
    $$SELECT perfmodel.train('x', 'linear', profiles => '{}')$$,
    $$SELECT perfmodel.train('x', 'linear', profiles => '{NULL}')$$,
    $$SELECT perfmodel.train('x', 'linear', profiles => '{-1,-2,-3,-4,-5,-6,-7}')$$,
    $$SELECT perfmodel.estimate_training('magic')$$,
    $$SELECT perfmodel.cross_validate('linear', folds => 1)$$,
    $$SELECT perfmodel.cross_validate('linear', folds => 10000)$$,
    $$SELECT perfmodel.cross_validate('linear', split => 'luck')$$,
    $$SELECT perfmodel.cross_validate(NULL)$$,
    $$SELECT perfmodel.evaluate()$$,
    $$SELECT perfmodel.evaluate('nobody')$$]) AS q;

-- rows that are not training steps on one device
WITH new AS (
    INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms, mode, world_size)
    VALUES (perfmodel.graph_id('anet4@16'), 'T4', 1, 1, 'inference', 1), (perfmodel.graph_id('anet4@16'), 'T4', 1, 1, 'train', 4)
    RETURNING profile_id)
SELECT array_agg(profile_id) AS odd FROM new \gset
SELECT regexp_replace(helper.error_of(format('SELECT perfmodel.train(%L, %L, %L)', 'x', 'linear', :'odd')), 'rofile \d+', 'rofile N', 'g');
-- by default they are left out
SELECT n_profiles = (SELECT count(*) - 2 FROM perfmodel.profile) AS left_out FROM perfmodel.estimate_training('linear');
DELETE FROM perfmodel.profile WHERE profile_id = ANY (:'odd');

-- memory: estimated, and refused before anything is computed
SELECT n_profiles, n_graphs, threads > 0 AS threads, memory_bytes > 0 AS memory, memory_limit_bytes = 2::bigint << 30 AS limit
FROM perfmodel.estimate_training('mdot');
SELECT (perfmodel.estimate_training('mdot', options => '{"d_model":256}')).memory_bytes
     > (perfmodel.estimate_training('mdot', options => '{"d_model":32}')).memory_bytes AS grows;
-- as many layers as the options allow
SELECT (perfmodel.estimate_training('mdot', options => '{"layers":6,"operator_layers":6}')).memory_bytes > 0 AS layers;
SET perfmodel.train_mem = '4MB';
SELECT regexp_replace(helper.error_of($$SELECT perfmodel.train('x')$$), '\d+ (MB, more|threads)', 'N \1', 'g');
SET perfmodel.train_mem = '1MB';
-- rows and graphs count, too: the kind itself needs next to nothing
SELECT regexp_replace(helper.error_of($$SELECT perfmodel.train('x', 'roofline', (SELECT array_agg(profile_id) FROM perfmodel.profile))$$), '\d+ (MB|measurements|graphs|threads)', 'N \1', 'g');
-- 17 and later say the unit of the limits as well
SELECT regexp_replace(helper.error_of($$SET perfmodel.train_mem = '1kB'$$), '\(1024( kB)? [.][.] 2147483647( kB)?\)', '(limits)') AS error_of;
RESET perfmodel.train_mem;
SELECT count(*) AS predictors, (SELECT count(*) FROM perfmodel.training_run) AS runs FROM perfmodel.predictor;
-- how long: tried out, unless one does not want that
SELECT kind, seconds > 0 AS tried FROM (VALUES ('linear', '{}'), ('roofline', '{}'), ('mdot', '{"epochs":4,"d_model":16,"heads":2,"layers":1,"d_operator":8,"hidden":8}')) AS k(kind, options),
     LATERAL perfmodel.estimate_training(kind, options => options::jsonb) ORDER BY kind;
SELECT seconds FROM perfmodel.estimate_training('mdot', try_out => false);
