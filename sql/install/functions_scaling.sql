-- Several GPUs. world_size, nodes, cluster and parallel are arguments of the predicting functions, too.

CREATE FUNCTION perfmodel.collective_ms(kind text, bytes float8, world_size integer, nodes integer DEFAULT NULL,
                                        cluster text DEFAULT 'any') RETURNS float8
    LANGUAGE c STABLE PARALLEL SAFE COST 20 AS 'MODULE_PATHNAME', 'pm_collective_ms';
COMMENT ON FUNCTION perfmodel.collective_ms(text, float8, integer, integer, text) IS
    'milliseconds of a collective operation, such as all_reduce, on this number of bytes among the GPUs of a cluster';

CREATE FUNCTION perfmodel.scaling_curve(graph_id bigint, gpu text, batch integer, cluster text DEFAULT NULL,
                                        max_gpus integer DEFAULT 64, dtype text DEFAULT 'fp32', layout text DEFAULT 'nchw',
                                        framework text DEFAULT NULL, predictor text DEFAULT NULL, level float8 DEFAULT 0.9,
                                        optimizer text DEFAULT 'sgd_momentum', parallel jsonb DEFAULT NULL,
                                        OUT world_size integer, OUT nodes integer, OUT step_ms float8, OUT step_ms_low float8,
                                        OUT step_ms_high float8, OUT samples_per_s float8, OUT efficiency float8,
                                        OUT comm_ms float8, OUT exposed_ms float8, OUT fits boolean, OUT p_fits float8,
                                        OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 2000 ROWS 7 AS 'MODULE_PATHNAME', 'pm_scaling_curve';
COMMENT ON FUNCTION perfmodel.scaling_curve(bigint, text, integer, text, integer, text, text, text, text, float8, text, jsonb) IS
    'the step on 1, 2, 4 ... max_gpus GPUs, each with a batch of its own: throughput, efficiency, messages, memory';

CREATE FUNCTION perfmodel.fit_cluster(cluster text, name text DEFAULT NULL, profiles bigint[] DEFAULT NULL, predictor text DEFAULT NULL,
                                      OUT fitted_cluster text, OUT n_profiles integer, OUT mape_before_pct float8, OUT mape_after_pct float8,
                                      OUT comm_error float8, OUT n_left_out integer)
    RETURNS record
    LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'pm_fit_cluster';
COMMENT ON FUNCTION perfmodel.fit_cluster(text, text, bigint[], text) IS
    'fits a cluster to measurements with world_size above 1; for a cluster that came with the extension, makes a new one';

-- usual_cluster() in clusters.c chooses alike. Of several clusters of one's own, that with most GPUs on a machine.
CREATE FUNCTION perfmodel.fewest_nodes(gpu text, world_size integer) RETURNS integer
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT ceil($2::float8 / c.gpus_per_node)::integer FROM perfmodel.cluster AS c WHERE c.gpu = $1 OR c.gpu IS NULL AND c.builtin
    ORDER BY c.gpu IS NULL, c.builtin, CASE WHEN NOT c.builtin THEN c.gpus_per_node END DESC,
             c.gpu IS NULL AND NOT EXISTS (SELECT FROM perfmodel.gpu AS g WHERE g.name = $1 AND starts_with(regexp_replace(lower(g.interconnect), '[^[:alnum:]]', '', 'g'), c.intra)),
             c.name LIMIT 1;
$$;
COMMENT ON FUNCTION perfmodel.fewest_nodes(text, integer) IS
    'machines that hold so many GPUs, in the cluster that predict() takes for the device; NULL: no cluster is known';

CREATE FUNCTION perfmodel.check_parallel(parallel jsonb, world_size integer) RETURNS boolean
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pm_check_parallel';
COMMENT ON FUNCTION perfmodel.check_parallel(jsonb, integer) IS
    'true; an error if parallel is not a valid argument of predicting functions for world_size GPUs (above 1)';
ALTER TABLE perfmodel.profile ADD CONSTRAINT profile_parallel_known CHECK (perfmodel.check_parallel(parallel, world_size));
COMMENT ON CONSTRAINT profile_parallel_known ON perfmodel.profile IS 'parallel has only known members, and there are several devices';
