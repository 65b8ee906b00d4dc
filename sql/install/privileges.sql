-- Everybody may look at data sheets, resolve names and predict; what predict
-- reads is still subject to the caller's rights on the tables. Whoever may
-- store graphs or train is for the administrator to say.

GRANT USAGE ON SCHEMA perfmodel TO PUBLIC;
GRANT SELECT ON perfmodel.gpu TO PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.load_graph(jsonb, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.load_onnx(text, bytea, integer, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.train(text, text, bigint[], jsonb, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.train_async(text, text, bigint[], jsonb, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.cancel_training(bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.recalibrate(text, bigint[], text) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.fit_cluster(text, text, bigint[], text) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.cross_validate(text, bigint[], integer, text, jsonb, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.activate_predictor(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.drop_predictor(text) FROM PUBLIC;
-- Trigger functions: only the extension puts them on tables. A trigger that is there needs no right to fire.
REVOKE ALL ON FUNCTION perfmodel.profile_gpu_by_name() FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.profile_words() FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.check_numbers() FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.refuse_update() FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.forget_cached() FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.guard_predictor() FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.refuse_delete() FROM PUBLIC;
