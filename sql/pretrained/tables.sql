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
COMMENT ON CONSTRAINT predictor_pretrained_id_negative ON perfmodel.predictor_pretrained IS
    'negative, so that it cannot be the id of a predictor trained in this database';
