-- Accuracy.

CREATE FUNCTION perfmodel.evaluate(predictor text DEFAULT NULL, profiles bigint[] DEFAULT perfmodel.all_profiles(),
                                   quantity text DEFAULT 'step_ms',
                                   OUT grouped_by text, OUT group_name text, OUT n integer, OUT mape_pct float8,
                                   OUT median_ape_pct float8, OUT p90_ape_pct float8, OUT mae_ms float8,
                                   OUT rmse_ms float8, OUT within_10_pct float8, OUT bias_pct float8,
                                   OUT coverage_pct float8, OUT interval_width_pct float8, OUT in_domain_pct float8,
                                   OUT mape_in_domain_pct float8, OUT mape_out_of_domain_pct float8)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 1000000 ROWS 50 AS 'MODULE_PATHNAME', 'pm_evaluate';
COMMENT ON FUNCTION perfmodel.evaluate(text, bigint[], text) IS
    'errors of a predictor: overall, by gpu, dtype, layout, framework, family, and training (learned from or not)';

CREATE FUNCTION perfmodel.cross_validate(kind text DEFAULT 'mdot', profiles bigint[] DEFAULT perfmodel.all_profiles(),
                                         folds integer DEFAULT 5, split text DEFAULT 'structure',
                                         options jsonb DEFAULT '{}', quantity text DEFAULT 'step_ms',
                                         OUT grouped_by text, OUT group_name text, OUT n integer, OUT mape_pct float8,
                                         OUT median_ape_pct float8, OUT p90_ape_pct float8, OUT mae_ms float8,
                                         OUT rmse_ms float8, OUT within_10_pct float8, OUT bias_pct float8,
                                         OUT coverage_pct float8, OUT interval_width_pct float8, OUT in_domain_pct float8,
                                         OUT mape_in_domain_pct float8, OUT mape_out_of_domain_pct float8,
                                         OUT train_s float8, OUT predict_us float8,
                                         OUT mae_mb float8, OUT rmse_mb float8)
    RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000000 ROWS 50 AS 'MODULE_PATHNAME', 'pm_cross_validate';
COMMENT ON FUNCTION perfmodel.cross_validate(text, bigint[], integer, text, jsonb, text) IS
    'errors on measurements that training has not seen: trains once for each fold and predicts the fold';
