-- As those of perfmodel.predictor and its weights, which tables that inherit from them do not get.

CREATE OR REPLACE TRIGGER predictor_immutable
    BEFORE UPDATE OF predictor_id, kind, options, seed, n_profiles, n_operators, profiles_hash, profiles, base_predictor_id, recalibrated_on, gpus, frameworks, dtypes,
        layouts, valid_n, valid_mape, valid_mae_ms, valid_rmse_ms, train_seconds, epochs, n_params, trained_at,
        library_version ON perfmodel.predictor_pretrained
    FOR EACH ROW EXECUTE FUNCTION perfmodel.refuse_update('Train a new predictor instead.');
COMMENT ON TRIGGER predictor_immutable ON perfmodel.predictor_pretrained IS 'only name and active may change';
CREATE OR REPLACE TRIGGER predictor_weights_immutable BEFORE UPDATE ON perfmodel.predictor_weights_pretrained
    FOR EACH ROW EXECUTE FUNCTION perfmodel.refuse_update('Train a new predictor instead.');
COMMENT ON TRIGGER predictor_weights_immutable ON perfmodel.predictor_weights_pretrained IS 'weights never change';
