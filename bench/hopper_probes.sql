-- Error on the card after a recalibration with 10, 20 and 40 of its networks, on the others; hopper.sh makes row and busy. Three draws of networks.
-- Steps that are known to wait for the host do not count.
SELECT set_config('bench.gpu', :'gpu', false) AS gpu;
CREATE VIEW step AS SELECT row.* FROM row LEFT JOIN busy USING (graph, batch, dtype, layout, mode, optimizer) WHERE mode = 'train' AND coalesce(busy_ms >= 0.8 * row.step_ms, true);
CREATE TABLE probe (draw int, networks int, judged int, error_pct float8, median_pct float8, in_interval_pct float8);
DO $$
DECLARE
    draw int;
    networks int;
    name text;
BEGIN
    FOR draw IN 1..3 LOOP
        FOREACH networks IN ARRAY '{0,10,20,40}'::int[] LOOP
            DELETE FROM perfmodel.profile;
            CREATE TEMP TABLE measured ON COMMIT DROP AS
                SELECT graph FROM (SELECT DISTINCT graph FROM step) AS g ORDER BY md5(graph || draw) LIMIT networks;
            INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, layout, framework, optimizer, step_ms)
                SELECT perfmodel.graph_id(graph), current_setting('bench.gpu'), batch, dtype, layout, framework, optimizer, step_ms FROM step JOIN measured USING (graph);
            name := 'pretrained';
            IF networks > 0 THEN
                name := format('draw %s of %s', draw, networks);
                PERFORM perfmodel.recalibrate('pretrained', (SELECT array_agg(profile_id) FROM perfmodel.profile), name);
            END IF;
            INSERT INTO probe
                SELECT draw, networks, count(*), 100 * avg(abs(p.step_ms / r.step_ms - 1)), 100 * percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(p.step_ms / r.step_ms - 1)),
                       100 * avg((r.step_ms BETWEEN p.step_ms_low AND p.step_ms_high)::int)
                FROM step AS r, LATERAL perfmodel.predict(perfmodel.graph_id(r.graph), current_setting('bench.gpu'), r.batch, r.dtype, layout => r.layout, optimizer => r.optimizer, predictor => name) AS p
                WHERE r.graph NOT IN (SELECT graph FROM measured);
            DROP TABLE measured;
        END LOOP;
    END LOOP;
END $$;
SELECT networks, round(avg(judged)) AS judged, round(avg(error_pct)::numeric, 1) AS error_pct, round(avg(median_pct)::numeric, 1) AS median_pct,
       round(avg(in_interval_pct)::numeric) AS in_interval_pct FROM probe GROUP BY networks ORDER BY networks;
