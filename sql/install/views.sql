-- For people: rounded, in the order in which one reads. Programs take the
-- tables and functions, which have every digit.

CREATE VIEW perfmodel.predictors AS
SELECT p.name, p.kind, p.quantity, p.active, p.n_profiles AS measurements, pg_catalog.cardinality(p.gpus) AS gpus,
       pg_catalog.round((100 * p.valid_mape)::numeric, 1) AS error_pct,
       CASE WHEN p.predictor_id < 0 THEN 'came with perfmodel_pretrained'
            WHEN p.recalibrated_on IS NOT NULL THEN 'recalibrated'
            WHEN p.base_predictor_id IS NOT NULL THEN 'trained from another one'
            ELSE 'trained here' END AS origin,
       pg_catalog.round(p.train_seconds::numeric, 1) AS train_seconds,
       pg_catalog.date_trunc('second', p.trained_at) AS trained_at
FROM perfmodel.predictor AS p
ORDER BY p.active DESC, p.trained_at DESC, p.name;
COMMENT ON VIEW perfmodel.predictors IS 'predictors at a glance, rounded; the active ones first';
COMMENT ON COLUMN perfmodel.predictors.name IS 'name of the predictor';
COMMENT ON COLUMN perfmodel.predictors.kind IS 'kind of predictor';
COMMENT ON COLUMN perfmodel.predictors.quantity IS 'what it predicts, with its unit';
COMMENT ON COLUMN perfmodel.predictors.active IS 'whether it answers when a call names no predictor';
COMMENT ON COLUMN perfmodel.predictors.measurements IS 'number of measurements that it was trained on';
COMMENT ON COLUMN perfmodel.predictors.gpus IS 'number of devices that it was trained on';
COMMENT ON COLUMN perfmodel.predictors.error_pct IS 'mean error in percent on measurements held out of its training (different for each predictor); NULL: none';
COMMENT ON COLUMN perfmodel.predictors.origin IS 'trained here, trained from another one, recalibrated, or came with perfmodel_pretrained';
COMMENT ON COLUMN perfmodel.predictors.train_seconds IS 'seconds that its training took';
COMMENT ON COLUMN perfmodel.predictors.trained_at IS 'when its training ended';

CREATE VIEW perfmodel.active_errors AS
SELECT e.grouped_by, e.group_name, e.n AS measurements, pg_catalog.round(e.mape_pct::numeric, 1) AS error_pct,
       pg_catalog.round(e.median_ape_pct::numeric, 1) AS median_error_pct, pg_catalog.round(e.mae_ms::numeric, 2) AS error_ms,
       pg_catalog.round(e.within_10_pct::numeric, 0) AS within_10_pct, pg_catalog.round(e.coverage_pct::numeric, 0) AS coverage_pct,
       pg_catalog.round(e.in_domain_pct::numeric, 0) AS in_domain_pct
FROM perfmodel.evaluate() AS e
-- without measurements evaluate() is an error, and a panel of a dashboard need not be
WHERE EXISTS (SELECT FROM perfmodel.profile AS p WHERE p.mode OPERATOR(pg_catalog.=) 'train' AND p.world_size OPERATOR(pg_catalog.=) 1);
COMMENT ON VIEW perfmodel.active_errors IS 'errors of the active predictor on all measurements, rounded; too small on those that it was trained on';
COMMENT ON COLUMN perfmodel.active_errors.grouped_by IS 'overall, gpu, dtype, layout, framework, family or training';
COMMENT ON COLUMN perfmodel.active_errors.group_name IS 'which of them; NULL: all';
COMMENT ON COLUMN perfmodel.active_errors.measurements IS 'number of measurements';
COMMENT ON COLUMN perfmodel.active_errors.error_pct IS 'mean absolute error in percent of the measured time';
COMMENT ON COLUMN perfmodel.active_errors.median_error_pct IS 'median of the absolute errors in percent';
COMMENT ON COLUMN perfmodel.active_errors.error_ms IS 'mean absolute error in ms';
COMMENT ON COLUMN perfmodel.active_errors.within_10_pct IS 'percentage of predictions that are within 10 % of the measurement';
COMMENT ON COLUMN perfmodel.active_errors.coverage_pct IS 'percentage of measurements inside of their interval of level 0.9';
COMMENT ON COLUMN perfmodel.active_errors.in_domain_pct IS 'percentage of measurements that are in the domain';

-- Views read with the rights and policies of who asks, as functions do: all views of the schema, which the scripts of
-- an extension alone create here. PostgreSQL 14 knows no such views.
DO $$
DECLARE
    v record;
BEGIN
    IF pg_catalog.current_setting('server_version_num')::integer >= 150000 THEN
        FOR v IN SELECT d.objid::regclass AS name
                 FROM pg_depend AS d JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid AND c.relkind = 'v'
                 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
                   AND d.refobjid = (SELECT e.oid FROM pg_extension AS e WHERE e.extname = 'perfmodel')
        LOOP
            EXECUTE pg_catalog.format('ALTER VIEW %s SET (security_invoker = true)', v.name);
        END LOOP;
    END IF;
END $$;
