-- As those of perfmodel.predictor and its weights, which tables that inherit from them do not get.

CREATE OR REPLACE TRIGGER predictor_immutable
    BEFORE UPDATE OF predictor_id, kind, options, seed, n_profiles, n_operators, profiles_hash, profiles, base_predictor_id, recalibrated_on, gpus, frameworks, dtypes,
        layouts, valid_n, valid_mape, valid_mae_ms, valid_rmse_ms, train_seconds, epochs, n_params, trained_at,
        library_version, quantity, row_hashes ON perfmodel.predictor_pretrained
    FOR EACH ROW EXECUTE FUNCTION perfmodel.refuse_update('Train a new predictor instead.');
COMMENT ON TRIGGER predictor_immutable ON perfmodel.predictor_pretrained IS 'only active may change';
CREATE OR REPLACE TRIGGER predictor_weights_immutable BEFORE UPDATE ON perfmodel.predictor_weights_pretrained
    FOR EACH ROW EXECUTE FUNCTION perfmodel.refuse_update('Train a new predictor instead.');
COMMENT ON TRIGGER predictor_weights_immutable ON perfmodel.predictor_weights_pretrained IS 'weights never change';
CREATE OR REPLACE TRIGGER predictor_guard BEFORE INSERT OR UPDATE OF name, active ON perfmodel.predictor_pretrained
    FOR EACH ROW EXECUTE FUNCTION perfmodel.guard_predictor();
COMMENT ON TRIGGER predictor_guard ON perfmodel.predictor_pretrained IS 'refuses another name, and a second active predictor, those trained here included';

-- CREATE EXTENSION would not bring back a row that was deleted.
CREATE OR REPLACE TRIGGER predictor_not_deleted BEFORE DELETE ON perfmodel.predictor_pretrained
    FOR EACH ROW EXECUTE FUNCTION perfmodel.refuse_delete('DROP EXTENSION perfmodel_pretrained removes it; perfmodel.activate_predictor makes another one answer.');
COMMENT ON TRIGGER predictor_not_deleted ON perfmodel.predictor_pretrained IS 'The row goes with the extension.';
CREATE OR REPLACE TRIGGER predictor_weights_not_deleted BEFORE DELETE ON perfmodel.predictor_weights_pretrained
    FOR EACH ROW EXECUTE FUNCTION perfmodel.refuse_delete('DROP EXTENSION perfmodel_pretrained removes them.');
COMMENT ON TRIGGER predictor_weights_not_deleted ON perfmodel.predictor_weights_pretrained IS 'The weights go with the extension.';
CREATE OR REPLACE TRIGGER predictor_not_truncated BEFORE TRUNCATE ON perfmodel.predictor_pretrained
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.refuse_delete('DROP EXTENSION perfmodel_pretrained removes it.');
COMMENT ON TRIGGER predictor_not_truncated ON perfmodel.predictor_pretrained IS 'The row goes with the extension.';

CREATE OR REPLACE TRIGGER predictor_forget_cached AFTER INSERT OR UPDATE ON perfmodel.predictor_pretrained
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.forget_cached();
ALTER TABLE perfmodel.predictor_pretrained ENABLE ALWAYS TRIGGER predictor_forget_cached;
COMMENT ON TRIGGER predictor_forget_cached ON perfmodel.predictor_pretrained IS 'makes sessions drop cached predictors, and which one is active';
CREATE OR REPLACE TRIGGER predictor_forget_applied AFTER INSERT OR UPDATE ON perfmodel.predictor_pretrained
    FOR EACH ROW EXECUTE FUNCTION perfmodel.forget_cached();
ALTER TABLE perfmodel.predictor_pretrained ENABLE REPLICA TRIGGER predictor_forget_applied;
COMMENT ON TRIGGER predictor_forget_applied ON perfmodel.predictor_pretrained IS 'like predictor_forget_cached, for rows that logical replication applies';
