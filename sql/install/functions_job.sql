-- Whole trainings.

CREATE FUNCTION perfmodel.predict_job(graph_id bigint, gpu text, batch integer, epochs float8 DEFAULT NULL, dataset_size bigint DEFAULT NULL,
                                      samples float8 DEFAULT NULL, steps float8 DEFAULT NULL, warmup_s float8 DEFAULT 60,
                                      checkpoint_every bigint DEFAULT 0, checkpoint_s float8 DEFAULT 10, eval_every bigint DEFAULT 0,
                                      eval_samples bigint DEFAULT 0, provider text DEFAULT NULL, region text DEFAULT NULL,
                                      price_kind text DEFAULT NULL, at timestamptz DEFAULT pg_catalog.now(), carbon_region text DEFAULT NULL,
                                      dtype text DEFAULT 'fp32', layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                      predictor text DEFAULT NULL, level float8 DEFAULT 0.9, optimizer text DEFAULT 'sgd_momentum',
                                      on_error text DEFAULT 'error', world_size integer DEFAULT 1, nodes integer DEFAULT NULL,
                                      cluster text DEFAULT NULL, parallel jsonb DEFAULT NULL,
                                      OUT seconds float8, OUT seconds_low float8, OUT seconds_high float8, OUT total_steps float8,
                                      OUT step_ms float8, OUT gpu_hours float8, OUT usd float8, OUT energy_kwh float8, OUT co2_kg float8,
                                      OUT in_domain boolean, OUT note text, OUT reasons text[],
                                      OUT peak_mb float8, OUT fits boolean, OUT p_fits float8)
    RETURNS record
    LANGUAGE c STABLE PARALLEL SAFE COST 150 AS 'MODULE_PATHNAME', 'pm_predict_job';
COMMENT ON FUNCTION perfmodel.predict_job(bigint, text, integer, float8, bigint, float8, float8, float8, bigint, float8, bigint, bigint, text, text, text,
                                          timestamptz, text, text, text, text, text, float8, text, text, integer, integer, text, jsonb) IS
    'a whole training: seconds with their interval, GPU-hours, cost, energy, CO2, and whether it fits into memory';
