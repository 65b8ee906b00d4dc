-- An update takes out the predictor of the version before, whose tables stay;
-- the script that follows puts in the one of this version. Which predictor is
-- active stays: see data/pretrained.sql.

DELETE FROM perfmodel.predictor_pretrained;
