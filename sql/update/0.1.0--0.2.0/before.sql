-- What has to be done before functions, views and triggers are made anew.

-- Functions whose arguments or columns change are dropped. What others built
-- on them would hold on to the old ones, so that is said first, as a list.
-- Rights that were granted on them are kept for after.sql.
DO $$
DECLARE
    changed CONSTANT text[] := '{predict_train_time,predict,predict_many,what_if,explain_train_time,estimate_training,evaluate,cross_validate,leaderboard}';
    dependent text;
BEGIN
    SELECT string_agg(DISTINCT coalesce(pg_describe_object('pg_class'::regclass, r.ev_class, 0), pg_describe_object(d.classid, d.objid, d.objsubid)), ', ')
    INTO dependent
    FROM pg_proc AS p
         JOIN pg_depend AS d ON d.refclassid = 'pg_proc'::regclass AND d.refobjid = p.oid AND d.deptype IN ('n', 'a')
         LEFT JOIN pg_rewrite AS r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
    WHERE p.pronamespace = 'perfmodel'::regnamespace AND p.proname = ANY (changed)
      AND NOT EXISTS (SELECT FROM pg_depend AS m WHERE m.deptype = 'e' AND m.refclassid = 'pg_extension'::regclass
                      AND m.classid = d.classid AND m.objid = d.objid);
    IF dependent IS NOT NULL THEN
        RAISE EXCEPTION 'functions of perfmodel that get new arguments are used by %', dependent
            USING ERRCODE = 'dependent_objects_still_exist',
                  HINT = 'Keep the definitions (pg_get_viewdef, pg_get_functiondef), drop these objects, update, and create them again.';
    END IF;
    PERFORM set_config('perfmodel_update.rights', coalesce((
        SELECT json_agg(json_build_object('function', p.proname, 'grants',
                   (SELECT coalesce(json_agg(json_build_object('to', CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END, 'with',
                            CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)), '[]')
                    FROM aclexplode(p.proacl) AS g WHERE g.grantee <> p.proowner)))::text
        FROM pg_proc AS p
        WHERE p.pronamespace = 'perfmodel'::regnamespace AND p.proname = ANY (changed) AND p.proacl IS NOT NULL), '[]'), true);
END $$;
DROP FUNCTION perfmodel.leaderboard(text[], text[], integer, bigint[], jsonb);
DROP FUNCTION perfmodel.cross_validate(text, bigint[], integer, text, jsonb);
DROP FUNCTION perfmodel.evaluate(text, bigint[]);
DROP FUNCTION perfmodel.estimate_training(text, bigint[], jsonb);
DROP FUNCTION perfmodel.explain_train_time(bigint, text, integer, text, text, text, text);
DROP FUNCTION perfmodel.what_if(bigint, text[], integer[], text, text, text, text, double precision);
DROP FUNCTION perfmodel.predict_many(bigint[], text[], integer[], text, text, text, text, double precision);
DROP FUNCTION perfmodel.predict(bigint, text, integer, text, text, text, text, double precision);
DROP FUNCTION perfmodel.predict_train_time(bigint, text, integer, text, text, text, text);

-- tables

ALTER TABLE perfmodel.graph ALTER COLUMN loaded_at SET DEFAULT pg_catalog.clock_timestamp();
ALTER TABLE perfmodel.graph_node ADD COLUMN module text;
ALTER TABLE perfmodel.predictor ADD COLUMN quantity text NOT NULL DEFAULT 'step_ms';
ALTER TABLE perfmodel.predictor ADD COLUMN row_hashes bigint[];
ALTER TABLE perfmodel.predictor ADD CONSTRAINT predictor_id_positive CHECK (predictor_id > 0) NO INHERIT;
ALTER TABLE perfmodel.gpu
    ADD COLUMN tdp_w float8 CONSTRAINT gpu_tdp_w_in_range CHECK (tdp_w BETWEEN 1e-2 AND 1e6),
    ADD COLUMN base_clock_ghz float8 CONSTRAINT gpu_base_clock_ghz_in_range CHECK (base_clock_ghz BETWEEN 1e-3 AND 1e3),
    ADD COLUMN memory_type text,
    ADD COLUMN compute_capability float8 CONSTRAINT gpu_compute_capability_in_range CHECK (compute_capability BETWEEN 1 AND 1e3),
    ADD COLUMN l1_kb float8 CONSTRAINT gpu_l1_kb_in_range CHECK (l1_kb BETWEEN 1e-2 AND 1e6),
    ADD COLUMN register_kb float8 CONSTRAINT gpu_register_kb_in_range CHECK (register_kb BETWEEN 1e-2 AND 1e6),
    ADD COLUMN fp16_tflops float8 CONSTRAINT gpu_fp16_tflops_in_range CHECK (fp16_tflops BETWEEN 1e-6 AND 1e7),
    ADD COLUMN source text;
ALTER TABLE perfmodel.profile
    ADD COLUMN fits_batch integer CONSTRAINT profile_fits_batch_in_range CHECK (fits_batch BETWEEN 1 AND 16777216),
    ADD COLUMN oom_batch integer CONSTRAINT profile_oom_batch_in_range CHECK (oom_batch BETWEEN 1 AND 16777216),
    ADD COLUMN parallel jsonb,
    ADD CONSTRAINT profile_oom_batch_above CHECK (oom_batch > batch AND (fits_batch IS NULL OR oom_batch > fits_batch));
DROP INDEX perfmodel.predictor_one_active;
CREATE UNIQUE INDEX predictor_one_active ON perfmodel.predictor (quantity) WHERE active;

-- What a graph, a sheet or a measurement may say has bounds. Rows outside of them, which no predictor could have learned from, stop
-- the update, which then has changed nothing: the list says how many there are of which, and how to find them.
DO $$
DECLARE
    -- table, constraint of 0.1.0 (NULL: there was none), constraint of 0.2.0, what it asks for
    bounds CONSTANT text[] := ARRAY[
        ARRAY['gpu', 'gpu_memory_gb_positive', 'gpu_memory_gb_in_range', 'memory_gb BETWEEN 1e-3 AND 1e6'],
        ARRAY['gpu', 'gpu_mem_bw_gbs_positive', 'gpu_mem_bw_gbs_in_range', 'mem_bw_gbs BETWEEN 1e-3 AND 1e7'],
        ARRAY['gpu', 'gpu_clock_ghz_positive', 'gpu_clock_ghz_in_range', 'clock_ghz BETWEEN 1e-3 AND 1e3'],
        ARRAY['gpu', 'gpu_fp32_tflops_positive', 'gpu_fp32_tflops_in_range', 'fp32_tflops BETWEEN 1e-6 AND 1e7'],
        ARRAY['gpu', 'gpu_fp16_tensor_tflops_positive', 'gpu_fp16_tensor_tflops_in_range', 'fp16_tensor_tflops BETWEEN 1e-6 AND 1e7'],
        ARRAY['gpu', 'gpu_l2_mb_positive', 'gpu_l2_mb_in_range', 'l2_mb BETWEEN 1e-4 AND 1e6'],
        ARRAY['gpu', 'gpu_sm_count_positive', 'gpu_sm_count_in_range', 'sm_count BETWEEN 1 AND 1000000'],
        ARRAY['gpu', 'gpu_cores_per_sm_positive', 'gpu_cores_per_sm_in_range', 'cores_per_sm BETWEEN 1 AND 1000000'],
        ARRAY['profile', 'profile_batch_positive', 'profile_batch_in_range', 'batch BETWEEN 1 AND 16777216'],
        ARRAY['op_profile', 'op_profile_batch_positive', 'op_profile_batch_in_range', 'batch BETWEEN 1 AND 16777216'],
        ARRAY['profile', 'profile_step_ms_positive_finite', 'profile_step_ms_in_range', 'step_ms BETWEEN 1e-6 AND 1e9'],
        ARRAY['profile', 'profile_forward_ms_not_negative_finite', 'profile_forward_ms_in_range', 'forward_ms BETWEEN 0 AND 1e9'],
        ARRAY['profile', 'profile_backward_ms_not_negative_finite', 'profile_backward_ms_in_range', 'backward_ms BETWEEN 0 AND 1e9'],
        ARRAY['profile', 'profile_peak_memory_mb_not_negative_finite', 'profile_peak_memory_mb_in_range', 'peak_memory_mb BETWEEN 0 AND 1e9'],
        ARRAY['profile', 'profile_spread_not_negative_finite', 'profile_spread_in_range', 'spread BETWEEN 0 AND 1e6'],
        ARRAY['op_profile', 'op_profile_forward_ms_positive_finite', 'op_profile_forward_ms_in_range', 'forward_ms BETWEEN 1e-6 AND 1e9'],
        ARRAY['op_profile', 'op_profile_backward_ms_positive_finite', 'op_profile_backward_ms_in_range', 'backward_ms BETWEEN 1e-6 AND 1e9'],
        ARRAY['op_profile', 'op_profile_spread_not_negative_finite', 'op_profile_spread_in_range', 'spread BETWEEN 0 AND 1e6'],
        ARRAY['op_profile', NULL, 'op_profile_sum_ms_in_range', 'forward_ms + backward_ms <= 1e9'],
        ARRAY['profile', NULL, 'profile_nodes_at_most_world_size', 'nodes <= world_size'],
        ARRAY['profile', 'profile_optimizer_known', 'profile_optimizer_known', 'optimizer IN (''sgd'', ''sgd_momentum'', ''adam'', ''adamw'', ''none'', ''other'')'],
        ARRAY['graph', NULL, 'graph_structure_is_hash', 'structure ~ ''^[0-9a-f]{16}$''']];
    b text[];
    n bigint;
    wrong text;
    example text;
BEGIN
    FOREACH b SLICE 1 IN ARRAY bounds LOOP
        EXECUTE format('SELECT count(*) FROM perfmodel.%I WHERE NOT (%s)', b[1], b[4]) INTO n;
        IF n > 0 THEN
            wrong := concat_ws(E'\n', wrong, format('%s %s of perfmodel.%s where not %s', n, CASE n WHEN 1 THEN 'row' ELSE 'rows' END, b[1], b[4]));
            example := coalesce(example, format('SELECT * FROM perfmodel.%I WHERE NOT (%s);', b[1], b[4]));
        END IF;
    END LOOP;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'there are graphs, measurements or data sheets with values that are not allowed any more'
            USING ERRCODE = 'check_violation', DETAIL = wrong,
                  HINT = 'Nothing was changed. Correct or delete these rows, and update again. They are found by, for example: ' || example;
    END IF;
    FOREACH b SLICE 1 IN ARRAY bounds LOOP
        IF b[2] IS NOT NULL THEN
            EXECUTE format('ALTER TABLE perfmodel.%I DROP CONSTRAINT %I', b[1], b[2]);
        END IF;
        EXECUTE format('ALTER TABLE perfmodel.%I ADD CONSTRAINT %I CHECK (%s)', b[1], b[3], b[4]);
    END LOOP;
END $$;
