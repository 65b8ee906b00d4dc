-- Triggers: aliases of devices in profile, rows that must not change, and word
-- to every session that what it remembers of a table is out of date.

CREATE FUNCTION perfmodel.profile_gpu_by_name() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'pm_profile_gpu_by_name';
COMMENT ON FUNCTION perfmodel.profile_gpu_by_name() IS 'trigger: replaces an alias of a device by its name';

CREATE FUNCTION perfmodel.profile_words() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'pm_profile_words';
COMMENT ON FUNCTION perfmodel.profile_words() IS 'trigger: spells words such as dtype and optimizer as perfmodel does (AdamW: adamw)';

CREATE FUNCTION perfmodel.check_numbers() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'pm_check_numbers';
COMMENT ON FUNCTION perfmodel.check_numbers() IS 'trigger: says which number of a row is out of bounds, and what it means';

CREATE FUNCTION perfmodel.refuse_update() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'pm_refuse_update';
COMMENT ON FUNCTION perfmodel.refuse_update() IS 'trigger: refuses changes of rows that never change';

CREATE FUNCTION perfmodel.guard_predictor() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'pm_guard_predictor';
COMMENT ON FUNCTION perfmodel.guard_predictor() IS 'trigger: refuses a name that is taken and a second active predictor, inherited tables included';

CREATE FUNCTION perfmodel.refuse_delete() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'pm_refuse_delete';
COMMENT ON FUNCTION perfmodel.refuse_delete() IS 'trigger: refuses to delete rows that came with an extension';

CREATE FUNCTION perfmodel.forget_cached() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'pm_forget_cached';
COMMENT ON FUNCTION perfmodel.forget_cached() IS 'trigger: makes all sessions drop what they have cached of a table';

CREATE TRIGGER profile_gpu_by_name BEFORE INSERT OR UPDATE OF gpu ON perfmodel.profile
    FOR EACH ROW EXECUTE FUNCTION perfmodel.profile_gpu_by_name();
COMMENT ON TRIGGER profile_gpu_by_name ON perfmodel.profile IS 'replaces an alias of a device by its name';
CREATE TRIGGER op_profile_gpu_by_name BEFORE INSERT OR UPDATE OF gpu ON perfmodel.op_profile
    FOR EACH ROW EXECUTE FUNCTION perfmodel.profile_gpu_by_name();
COMMENT ON TRIGGER op_profile_gpu_by_name ON perfmodel.op_profile IS 'replaces an alias of a device by its name';
CREATE TRIGGER profile_check_numbers BEFORE INSERT OR UPDATE ON perfmodel.profile
    FOR EACH ROW EXECUTE FUNCTION perfmodel.check_numbers('profile');
COMMENT ON TRIGGER profile_check_numbers ON perfmodel.profile IS 'explains which number is impossible';
CREATE TRIGGER op_profile_check_numbers BEFORE INSERT OR UPDATE ON perfmodel.op_profile
    FOR EACH ROW EXECUTE FUNCTION perfmodel.check_numbers('op_profile');
COMMENT ON TRIGGER op_profile_check_numbers ON perfmodel.op_profile IS 'explains which number is impossible';
CREATE TRIGGER gpu_check_numbers BEFORE INSERT OR UPDATE ON perfmodel.gpu
    FOR EACH ROW EXECUTE FUNCTION perfmodel.check_numbers('gpu');
COMMENT ON TRIGGER gpu_check_numbers ON perfmodel.gpu IS 'explains which number is impossible';
CREATE TRIGGER profile_words BEFORE INSERT OR UPDATE OF dtype, layout, optimizer, mode ON perfmodel.profile
    FOR EACH ROW EXECUTE FUNCTION perfmodel.profile_words('dtype', 'layout', 'optimizer', 'mode');
COMMENT ON TRIGGER profile_words ON perfmodel.profile IS 'replaces other spellings of dtype, layout, optimizer and mode';
CREATE TRIGGER op_profile_words BEFORE INSERT OR UPDATE OF dtype, layout ON perfmodel.op_profile
    FOR EACH ROW EXECUTE FUNCTION perfmodel.profile_words('dtype', 'layout');
COMMENT ON TRIGGER op_profile_words ON perfmodel.op_profile IS 'replaces other spellings of dtype and layout';

CREATE TRIGGER graph_immutable
    BEFORE UPDATE OF graph_id, model, family, nodes, params, unknown_ops, structure, loaded_at, doc ON perfmodel.graph
    FOR EACH ROW EXECUTE FUNCTION perfmodel.refuse_update('Delete the graph and load it again under a new id.');
COMMENT ON TRIGGER graph_immutable ON perfmodel.graph IS 'only name and source may change';

CREATE TRIGGER predictor_immutable
    BEFORE UPDATE OF predictor_id, kind, options, seed, n_profiles, n_operators, profiles_hash, profiles, base_predictor_id,
        recalibrated_on, gpus, frameworks, dtypes, layouts, valid_n, valid_mape, valid_mae_ms, valid_rmse_ms, train_seconds, epochs, n_params, trained_at,
        library_version, quantity, row_hashes ON perfmodel.predictor
    FOR EACH ROW EXECUTE FUNCTION perfmodel.refuse_update('Train a new predictor instead.');
COMMENT ON TRIGGER predictor_immutable ON perfmodel.predictor IS 'only name and active may change';

CREATE TRIGGER predictor_guard BEFORE INSERT OR UPDATE OF name, active ON perfmodel.predictor
    FOR EACH ROW EXECUTE FUNCTION perfmodel.guard_predictor();
COMMENT ON TRIGGER predictor_guard ON perfmodel.predictor IS 'refuses a name that is taken and a second active predictor, the pretrained one included';

CREATE TRIGGER predictor_weights_immutable BEFORE UPDATE ON perfmodel.predictor_weights
    FOR EACH ROW EXECUTE FUNCTION perfmodel.refuse_update('Train a new predictor instead.');
COMMENT ON TRIGGER predictor_weights_immutable ON perfmodel.predictor_weights IS 'weights never change';

CREATE TRIGGER gpu_forget_cached AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON perfmodel.gpu
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.forget_cached();
COMMENT ON TRIGGER gpu_forget_cached ON perfmodel.gpu IS 'makes sessions drop cached data sheets';

-- A new graph makes nothing out of date.
CREATE TRIGGER graph_forget_cached AFTER UPDATE OR DELETE OR TRUNCATE ON perfmodel.graph
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.forget_cached();
COMMENT ON TRIGGER graph_forget_cached ON perfmodel.graph IS 'makes sessions drop cached graphs';

CREATE TRIGGER predictor_forget_cached AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON perfmodel.predictor
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.forget_cached();
COMMENT ON TRIGGER predictor_forget_cached ON perfmodel.predictor IS 'makes sessions drop cached predictors, and which one is active';

-- Replicas. A hot standby gets the word with the commit. A subscriber of
-- logical replication does not: its apply worker has session_replication_role
-- "replica" and fires no statement triggers but for the initial copy and for
-- TRUNCATE. So the triggers above fire always, and there are row triggers for
-- what is applied.

ALTER TABLE perfmodel.gpu ENABLE ALWAYS TRIGGER gpu_forget_cached;
ALTER TABLE perfmodel.graph ENABLE ALWAYS TRIGGER graph_forget_cached;
ALTER TABLE perfmodel.predictor ENABLE ALWAYS TRIGGER predictor_forget_cached;

CREATE TRIGGER gpu_forget_applied AFTER INSERT OR UPDATE OR DELETE ON perfmodel.gpu
    FOR EACH ROW EXECUTE FUNCTION perfmodel.forget_cached();
ALTER TABLE perfmodel.gpu ENABLE REPLICA TRIGGER gpu_forget_applied;
COMMENT ON TRIGGER gpu_forget_applied ON perfmodel.gpu IS 'like gpu_forget_cached, for rows that logical replication applies';

CREATE TRIGGER graph_forget_applied AFTER UPDATE OR DELETE ON perfmodel.graph
    FOR EACH ROW EXECUTE FUNCTION perfmodel.forget_cached();
ALTER TABLE perfmodel.graph ENABLE REPLICA TRIGGER graph_forget_applied;
COMMENT ON TRIGGER graph_forget_applied ON perfmodel.graph IS 'like graph_forget_cached, for rows that logical replication applies';

CREATE TRIGGER predictor_forget_applied AFTER INSERT OR UPDATE OR DELETE ON perfmodel.predictor
    FOR EACH ROW EXECUTE FUNCTION perfmodel.forget_cached();
ALTER TABLE perfmodel.predictor ENABLE REPLICA TRIGGER predictor_forget_applied;
COMMENT ON TRIGGER predictor_forget_applied ON perfmodel.predictor IS 'like predictor_forget_cached, for rows that logical replication applies';
