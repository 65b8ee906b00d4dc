-- The script that installed perfmodel_pretrained 0.1.0, with a predictor of kind linear in place of the large one.
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
INSERT INTO perfmodel.predictor_pretrained (predictor_id, name, kind, active, options, seed, n_profiles, n_operators, profiles_hash, profiles, base_predictor_id, recalibrated_on, gpus, frameworks, dtypes, layouts, valid_n, valid_mape, valid_mae_ms, valid_rmse_ms, train_seconds, epochs, n_params, trained_at, library_version)
VALUES ('-1', 'pretrained', 'linear', 'f', '{"seed": 42, "ridge": 0.001, "calibration_folds": 5}', '42', '36', '0', '71422edaee56b964', '{}', NULL, NULL, '{"Own Chip","RTX 3090",T4}', '{"pytorch 2.1"}', '{fp32}', '{nchw}', '36', '0.44029574959809004', '1.2148162369732134', '2.4353271864047388', '0.0005431109998426109', '0', '5', '2026-11-22 03:04:30.022498+00', '0.1.0');
INSERT INTO perfmodel.predictor_weights_pretrained (predictor_id, part, data) VALUES (-1, 0, '\x504d505201000000060000006c696e65617203000000050000007269646765fca9f1d24d62503f1100000063616c6962726174696f6e5f666f6c6473000000000000144004000000736565640000000000004540e7c8d71d579ae0bfd2af3bc8cf76f5bfd52a596c900be43f91582f3ca9a7f73f1b9c1c669c69f23f0f0000000300000008000000525458203330393000000000000020400000000000005040060000000c00000000000000000000000000000000000000000000000000000000000000000000000000000002000000543400000000000020400000000000005040060000000c000000000000000000000000000000000000000000000000000000000000000000000000000000080000004f776e204368697000000000000020400000000000005040060000000c000000000000000000000000000000000000000000000000000000000000000000000000000000010000000b0000007079746f72636820322e3124000000050000000100000008000000436f6e762f6b786b04000000000000407fcc8240ad6ba140ad6ba14000000040000000400000803f0000803f000000407fcc8240dad599400000c8c20000c8c2c50520415c0060417fcc82407fcc8240ad6ba140ad6ba14000000040000000400000803f0000803f7fcc82407fcc8240d1c1e5400000c8c20000c8c2c50520415c006041000000403db7c040ad6ba140ad6ba14000000040000000400000803f0000803f000000403db7c040dad599400000c8c20000c8c2c50520410c0080413db7c0403db7c040ad6ba140ad6ba14000000040000000400000803f0000803f3db7c0403db7c04043c212410000c8c20000c8c2c50520410c008041010000001200000042617463684e6f726d616c697a6174696f6e020000007fcc82407fcc8240ad6ba140ad6ba1400000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c25c0060413db7c0403db7c040ad6ba140ad6ba1400000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20c008041010000000400000052656c75020000007fcc82407fcc8240ad6ba140ad6ba1400000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c25c0060413db7c0403db7c040ad6ba140ad6ba1400000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20c0080410100000011000000476c6f62616c41766572616765506f6f6c020000007fcc82407fcc8240ad6ba140ad6ba1400000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c27fcc82403db7c0403db7c040ad6ba140ad6ba1400000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c23db7c040010000000400000047656d6d020000000000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c254675d407fcc82400000c8c20000c8c20000803f54675d400000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c20000c8c254675d403db7c0400000c8c20000c8c20000803f54675d408eb80c95075b1140195b5657cd4c2a4000000000000000003bd6577a');
