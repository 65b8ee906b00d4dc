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
    ADD CONSTRAINT profile_oom_batch_above CHECK (oom_batch > batch AND (fits_batch IS NULL OR oom_batch > fits_batch));
DROP INDEX perfmodel.predictor_one_active;
CREATE UNIQUE INDEX predictor_one_active ON perfmodel.predictor (quantity) WHERE active;

-- What a sheet or a measurement may say has bounds. A row outside of them, which no predictor could have
-- learned from, stops the update: correct or delete it first.
ALTER TABLE perfmodel.gpu DROP CONSTRAINT gpu_memory_gb_positive, ADD CONSTRAINT gpu_memory_gb_in_range CHECK (memory_gb BETWEEN 1e-3 AND 1e6);
ALTER TABLE perfmodel.gpu DROP CONSTRAINT gpu_mem_bw_gbs_positive, ADD CONSTRAINT gpu_mem_bw_gbs_in_range CHECK (mem_bw_gbs BETWEEN 1e-3 AND 1e7);
ALTER TABLE perfmodel.gpu DROP CONSTRAINT gpu_clock_ghz_positive, ADD CONSTRAINT gpu_clock_ghz_in_range CHECK (clock_ghz BETWEEN 1e-3 AND 1e3);
ALTER TABLE perfmodel.gpu DROP CONSTRAINT gpu_fp32_tflops_positive, ADD CONSTRAINT gpu_fp32_tflops_in_range CHECK (fp32_tflops BETWEEN 1e-6 AND 1e7);
ALTER TABLE perfmodel.gpu DROP CONSTRAINT gpu_fp16_tensor_tflops_positive, ADD CONSTRAINT gpu_fp16_tensor_tflops_in_range CHECK (fp16_tensor_tflops BETWEEN 1e-6 AND 1e7);
ALTER TABLE perfmodel.gpu DROP CONSTRAINT gpu_l2_mb_positive, ADD CONSTRAINT gpu_l2_mb_in_range CHECK (l2_mb BETWEEN 1e-4 AND 1e6);
ALTER TABLE perfmodel.gpu DROP CONSTRAINT gpu_sm_count_positive, ADD CONSTRAINT gpu_sm_count_in_range CHECK (sm_count BETWEEN 1 AND 1000000);
ALTER TABLE perfmodel.gpu DROP CONSTRAINT gpu_cores_per_sm_positive, ADD CONSTRAINT gpu_cores_per_sm_in_range CHECK (cores_per_sm BETWEEN 1 AND 1000000);
ALTER TABLE perfmodel.profile DROP CONSTRAINT profile_batch_positive, ADD CONSTRAINT profile_batch_in_range CHECK (batch BETWEEN 1 AND 16777216);
ALTER TABLE perfmodel.op_profile DROP CONSTRAINT op_profile_batch_positive, ADD CONSTRAINT op_profile_batch_in_range CHECK (batch BETWEEN 1 AND 16777216);
ALTER TABLE perfmodel.profile DROP CONSTRAINT profile_step_ms_positive_finite, ADD CONSTRAINT profile_step_ms_in_range CHECK (step_ms BETWEEN 1e-6 AND 1e9);
ALTER TABLE perfmodel.profile DROP CONSTRAINT profile_forward_ms_not_negative_finite, ADD CONSTRAINT profile_forward_ms_in_range CHECK (forward_ms BETWEEN 0 AND 1e9);
ALTER TABLE perfmodel.profile DROP CONSTRAINT profile_backward_ms_not_negative_finite, ADD CONSTRAINT profile_backward_ms_in_range CHECK (backward_ms BETWEEN 0 AND 1e9);
ALTER TABLE perfmodel.profile DROP CONSTRAINT profile_peak_memory_mb_not_negative_finite, ADD CONSTRAINT profile_peak_memory_mb_in_range CHECK (peak_memory_mb BETWEEN 0 AND 1e9);
ALTER TABLE perfmodel.profile DROP CONSTRAINT profile_spread_not_negative_finite, ADD CONSTRAINT profile_spread_in_range CHECK (spread BETWEEN 0 AND 1e6);
ALTER TABLE perfmodel.op_profile DROP CONSTRAINT op_profile_forward_ms_positive_finite, ADD CONSTRAINT op_profile_forward_ms_in_range CHECK (forward_ms BETWEEN 1e-6 AND 1e9);
ALTER TABLE perfmodel.op_profile DROP CONSTRAINT op_profile_backward_ms_positive_finite, ADD CONSTRAINT op_profile_backward_ms_in_range CHECK (backward_ms BETWEEN 1e-6 AND 1e9);
ALTER TABLE perfmodel.op_profile DROP CONSTRAINT op_profile_spread_not_negative_finite, ADD CONSTRAINT op_profile_spread_in_range CHECK (spread BETWEEN 0 AND 1e6);
ALTER TABLE perfmodel.op_profile ADD CONSTRAINT op_profile_sum_ms_in_range CHECK (forward_ms + backward_ms <= 1e9);
ALTER TABLE perfmodel.profile DROP CONSTRAINT profile_optimizer_known,
    ADD CONSTRAINT profile_optimizer_known CHECK (optimizer IN ('sgd', 'sgd_momentum', 'adam', 'adamw', 'none', 'other'));
