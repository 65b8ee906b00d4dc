-- A predictor that comes trained.  Its rows stand in tables of their own that
-- perfmodel's inherit from: every query on perfmodel.predictor sees them,
-- DROP EXTENSION takes them away, and pg_dump, which leaves out what belongs to
-- an extension, does not write them twice: CREATE EXTENSION brings them back.

CREATE TABLE perfmodel.predictor_pretrained () INHERITS (perfmodel.predictor);
ALTER TABLE perfmodel.predictor_pretrained ADD CONSTRAINT predictor_pretrained_pkey PRIMARY KEY (predictor_id);
-- those of train() are positive
ALTER TABLE perfmodel.predictor_pretrained ADD CONSTRAINT predictor_pretrained_id_negative CHECK (predictor_id < 0);
CREATE TABLE perfmodel.predictor_weights_pretrained () INHERITS (perfmodel.predictor_weights);
ALTER TABLE perfmodel.predictor_weights_pretrained ADD CONSTRAINT predictor_weights_pretrained_pkey PRIMARY KEY (predictor_id, part);
ALTER TABLE perfmodel.predictor_weights_pretrained ADD CONSTRAINT predictor_weights_pretrained_predictor_exists
    FOREIGN KEY (predictor_id) REFERENCES perfmodel.predictor_pretrained ON DELETE CASCADE;
ALTER TABLE perfmodel.predictor_weights_pretrained ALTER COLUMN data SET STORAGE EXTERNAL;

COMMENT ON TABLE perfmodel.predictor_pretrained IS 'rows of perfmodel.predictor that come with the extension perfmodel_pretrained';
COMMENT ON TABLE perfmodel.predictor_weights_pretrained IS 'rows of perfmodel.predictor_weights that come with the extension perfmodel_pretrained';
COMMENT ON CONSTRAINT predictor_pretrained_id_negative ON perfmodel.predictor_pretrained IS 'told apart from predictors that were trained here';

CREATE TRIGGER predictor_immutable
    BEFORE UPDATE OF predictor_id, kind, options, seed, n_profiles, n_operators, profiles_hash, profiles, base_predictor_id, recalibrated_on, gpus, frameworks, dtypes,
        layouts, valid_n, valid_mape, valid_mae_ms, valid_rmse_ms, train_seconds, epochs, n_params, trained_at,
        library_version ON perfmodel.predictor_pretrained
    FOR EACH ROW EXECUTE FUNCTION perfmodel.refuse_update('Train a new predictor instead.');
COMMENT ON TRIGGER predictor_immutable ON perfmodel.predictor_pretrained IS 'only name and active may change';
CREATE TRIGGER predictor_weights_immutable BEFORE UPDATE ON perfmodel.predictor_weights_pretrained
    FOR EACH ROW EXECUTE FUNCTION perfmodel.refuse_update('Train a new predictor instead.');
COMMENT ON TRIGGER predictor_weights_immutable ON perfmodel.predictor_weights_pretrained IS 'weights do not change';

DO $$
BEGIN
    IF EXISTS (SELECT FROM perfmodel.predictor WHERE name OPERATOR(pg_catalog.=) 'pretrained') THEN
        RAISE EXCEPTION 'predictor "pretrained" already exists'
            USING ERRCODE = 'duplicate_object',
                  HINT = 'Rename yours: UPDATE perfmodel.predictor SET name = ''...'' WHERE name = ''pretrained''.';
    END IF;
END $$;
