-- Loading the library and computing with it leaves the backend's floating
-- point mode alone: the smallest denormal number is not flushed to zero.
-- Whatever digits of a number a session shows, it computes with all of them.
SET client_min_messages = warning;
SELECT count(*) AS loaded FROM perfmodel.version();
SELECT '4.9406564584124654e-324'::float8 > 0 AS after_load, '4.9406564584124654e-324'::float8 * 2 AS doubled;
SELECT count(*) > 0 AS predicted FROM perfmodel.explain_train_time(
    perfmodel.graph_id('anet8@16'), 'T4', 8, predictor => 'small');
SELECT '4.9406564584124654e-324'::float8 > 0 AS after_prediction,
       '2.2250738585072014e-308'::float8 / 4 AS denormal_quotient;
-- the update throws away what the session has read of devices
SELECT energy_kwh FROM perfmodel.predict_job(perfmodel.graph_id('anet8@16'), 'RTX 3090', 8, epochs => 1, dataset_size => 100000, predictor => 'small') \gset
SET extra_float_digits = -15;
UPDATE perfmodel.gpu SET tdp_w = tdp_w WHERE name = 'RTX 3090';
SELECT energy_kwh = :energy_kwh AS same FROM perfmodel.predict_job(perfmodel.graph_id('anet8@16'), 'RTX 3090', 8, epochs => 1, dataset_size => 100000, predictor => 'small');
SHOW extra_float_digits;
RESET extra_float_digits;
