-- What is far too long or too many ends in a short error, at once.
\pset format unaligned
SET client_min_messages = error;
SELECT perfmodel.graph_id('anet4@16') AS g \gset
-- names of a megabyte, of letters that take three bytes each
CREATE FUNCTION helper.long_name(statement text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(e, '(€€)€+', '\1...', 'g') || CASE WHEN octet_length(e) > 2000 THEN ' LONG: ' || octet_length(e) ELSE '' END
    FROM helper.error_of(replace(statement, '?', '''' || repeat('€', 350000) || '''')) AS e $$;
SELECT split_part(helper.long_name(replace(q, ':g', :'g')), E'\n', 1) FROM unnest(ARRAY[
    'SELECT perfmodel.train(?, ''linear'')', 'SELECT perfmodel.train_async(?, ''linear'')', 'SELECT perfmodel.train(''x'', ?)',
    'SELECT perfmodel.train(''x'', warm_start => ?)', 'SELECT perfmodel.recalibrate(?)', 'SELECT perfmodel.recalibrate(''line'', name => ?)',
    'SELECT perfmodel.activate_predictor(?)', 'SELECT perfmodel.drop_predictor(?)', 'SELECT perfmodel.gpu_name(?)', 'SELECT perfmodel.graph_id(?)',
    'SELECT perfmodel.evaluate(?)', 'SELECT perfmodel.cross_validate(?)', 'SELECT perfmodel.estimate_training(?)',
    'SELECT perfmodel.predict_train_time(:g, ?, 8)', 'SELECT perfmodel.predict_train_time(:g, ''T4'', 8, ?)',
    'SELECT perfmodel.predict_train_time(:g, ''T4'', 8, layout => ?)', 'SELECT perfmodel.predict_train_time(:g, ''T4'', 8, predictor => ?)',
    'SELECT perfmodel.predict(:g, ?, 8)', 'SELECT perfmodel.explain_train_time(:g, ?, 8)', 'SELECT perfmodel.predict_many(ARRAY[:g], ARRAY[?], ARRAY[8])',
    'SELECT perfmodel.what_if(:g, ARRAY[?], ARRAY[8])', 'SELECT perfmodel.load_graph(''{}'', ?)', 'SELECT perfmodel.load_onnx(?, '''')',
    'SELECT perfmodel.estimate_training(options => jsonb_build_object(?, 1))',
    'INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms) VALUES (:g, ?, 8, 1)',
    'UPDATE perfmodel.predictor SET name = ? WHERE name = ''line''']) AS q;
DROP FUNCTION helper.long_name;
