-- Training that goes on from a predictor.
\pset format unaligned
SET client_min_messages = warning;
\set tiny '{"epochs":6,"d_model":16,"heads":2,"layers":1,"d_operator":8,"hidden":8,"seed":7}'
SELECT array_agg(profile_id ORDER BY profile_id) AS t4 FROM perfmodel.profile WHERE gpu = 'T4' \gset
SELECT perfmodel.train('start', 'mdot', :'t4', :'tiny') > 0 AS trained;
-- its options are those of the start, but for epochs and rate, and what is given
SELECT perfmodel.train('on', options => '{"epochs": 3}', warm_start => 'start') > 0 AS trained;
SELECT perfmodel.train('further', warm_start => 'on') > 0 AS trained;
SELECT p.name, p.options->>'epochs' AS epochs, p.options->>'learning_rate' AS rate, p.options->>'d_model' AS d_model, p.seed, p.epochs,
       b.name AS base, p.gpus, p.n_profiles = (SELECT count(*) FROM perfmodel.profile WHERE mode = 'train' AND world_size = 1) AS all_profiles,
       p.valid_n, p.valid_mape > 0 AS error, p.recalibrated_on
FROM perfmodel.predictor p LEFT JOIN perfmodel.predictor b ON b.predictor_id = p.base_predictor_id WHERE p.name IN ('start', 'on', 'further') ORDER BY p.predictor_id;
SELECT predictor, options, warm_start FROM perfmodel.training_run WHERE predictor IN ('on', 'further') ORDER BY run_id;
-- a device that the start had not seen is known now, and intervals are there
SELECT predictor, in_domain, note, step_ms_low < step_ms_high AS interval
FROM (VALUES ('start'), ('on')) AS v(predictor), perfmodel.predict(perfmodel.graph_id('anet4@16'), 'RTX 3090', 8, predictor => v.predictor);
-- in the background the same bytes
SELECT perfmodel.train_async('on async', options => '{"epochs": 3}', warm_start => 'start') AS run \gset
DO $$ BEGIN
    FOR i IN 1..3000 LOOP
        EXIT WHEN EXISTS (SELECT FROM perfmodel.training_status WHERE predictor = 'on async' AND status <> 'running');
        PERFORM pg_sleep(0.02);
    END LOOP;
END $$;
SELECT status, message FROM perfmodel.training_status WHERE run_id = :run;
SELECT count(DISTINCT data) AS different FROM perfmodel.predictor JOIN perfmodel.predictor_weights USING (predictor_id) WHERE name IN ('on', 'on async');
-- what the start was trained on has been seen, however short the way from there
SELECT perfmodel.train('on few', options => '{"epochs": 1}', warm_start => 'start',
    profiles => (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE gpu = 'RTX 3090')) > 0 AS trained;
SELECT n_trained_on, (SELECT count(*) FROM perfmodel.profile WHERE gpu = 'T4') AS of_the_start
FROM perfmodel.recalibrate('on few', (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE gpu = 'T4'), 'on few, again');
-- what is refused, at once
SELECT helper.error_of(format(q, f)) FROM unnest('{train,train_async}'::text[]) AS f, unnest(ARRAY['SELECT perfmodel.%s(''x'', warm_start => ''strat'')',
    'SELECT perfmodel.%s(''x'', ''linear'', warm_start => ''line'')', 'SELECT perfmodel.%s(''x'', warm_start => ''line'')',
    'SELECT perfmodel.%s(''x'', options => ''{"layers": 2}'', warm_start => ''start'')']) AS q ORDER BY f, q;
SELECT count(perfmodel.drop_predictor(n)) FROM unnest('{start,on,further,on async,on few,"on few, again"}'::text[]) AS n;
