-- Predictions of every predictor of one's own for every measurement.
SELECT p.name, f.profile_id, perfmodel.predict_train_time(f.graph_id, f.gpu, f.batch, predictor => p.name)
FROM perfmodel.predictor AS p, perfmodel.profile AS f WHERE p.predictor_id > 0 ORDER BY p.name, f.profile_id;
