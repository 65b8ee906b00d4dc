-- The main job from end to end, on the data that come with perfmodel.
-- Run by demo.sh in the root of the tree; works in any database:
--     psql -d mydb -f demo/demo.sql
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS perfmodel;
SELECT format('perfmodel %s on PostgreSQL %s, %s kernels of OpenBLAS', library, current_setting('server_version'), kernel) AS line
FROM perfmodel.version() v(library, catalog), perfmodel.blas_info() b(blas, kernel, threads, linked, cpu) \gset
\echo :line

\echo
\echo '== loading operator graphs, and the predictor that comes trained'
\i demo/sample_graphs.sql
SELECT count(*) AS graphs, sum(nodes) AS operators, sum(unknown_ops) AS unknown_operators, count(DISTINCT family) AS families,
       count(*) - count(DISTINCT structure) AS same_under_another_name
FROM perfmodel.graph;

\echo '== loading measured training steps'
\i demo/sample_measurements.sql
SELECT gpu, dtype, count(*) AS measurements, count(DISTINCT graph_id) AS networks, min(batch) AS from_batch, max(batch) AS to_batch
FROM perfmodel.profile GROUP BY gpu, dtype ORDER BY gpu, dtype;

-- One network in six is kept from training, with all its image sizes, and with whatever else has the same structure.
CREATE TEMP TABLE split AS
SELECT graph_id, bool_or(('x' || left(md5('demo' || model), 7))::bit(28)::int % 6 = 0) OVER (PARTITION BY structure) AS unseen
FROM perfmodel.graph;
-- Training sees at most 450 measurements, so that the demo stays short.
CREATE TEMP TABLE seen AS
SELECT profile_id FROM perfmodel.profile JOIN split USING (graph_id) WHERE NOT unseen ORDER BY md5(profile_id::text) LIMIT 450;
SELECT (SELECT count(*) FROM seen) AS train_on, count(DISTINCT model) FILTER (WHERE NOT unseen) AS networks_seen,
       count(DISTINCT model) FILTER (WHERE unseen) AS networks_unseen, count(*) FILTER (WHERE unseen) AS test_on
FROM perfmodel.profile JOIN perfmodel.graph USING (graph_id) JOIN split USING (graph_id);

\echo '== training a predictor of kind mdot on 450 of them: six trainings to calibrate the intervals, then one on all'
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT perfmodel.train('demo', profiles => (SELECT array_agg(profile_id) FROM seen)) AS predictor_id \gset
SET client_min_messages = warning;
SELECT epochs, best_epoch, round(seconds::numeric, 1) AS seconds, threads, round((100 * valid_mape)::numeric, 1) AS validation_error_pct
FROM perfmodel.training_run WHERE predictor = 'demo';

CREATE TEMP TABLE result AS
SELECT g.graph_id, g.name AS network, p.profile_id, p.gpu, p.dtype, p.batch, p.step_ms AS measured_ms,
       r.step_ms AS predicted_ms, r.step_ms_low AS low_ms, r.step_ms_high AS high_ms, r.in_domain
FROM perfmodel.profile p JOIN perfmodel.graph g USING (graph_id) JOIN split s USING (graph_id)
     CROSS JOIN LATERAL perfmodel.predict(g.graph_id, p.gpu, p.batch, p.dtype, p.layout, p.framework, 'demo') r
WHERE s.unseen;

\echo '== networks that training has not seen: measured and predicted milliseconds per training step, with intervals of 90 %'
\echo '   (the largest network of each family, at its largest batch; families with the longest steps first)'
SELECT network, batch, round(measured_ms::numeric, 1) AS measured_ms, round(predicted_ms::numeric, 1) AS predicted_ms,
       round(low_ms::numeric, 1) AS low_ms, round(high_ms::numeric, 1) AS high_ms, in_domain,
       round(100 * (predicted_ms / measured_ms - 1)::numeric, 1) AS error_pct
FROM (SELECT DISTINCT ON (g.family) r.*
      FROM result r JOIN perfmodel.graph g USING (graph_id), LATERAL
           (SELECT sum(n.flops_forward) AS flops FROM perfmodel.graph_node n WHERE n.graph_id = r.graph_id) f
      ORDER BY g.family, f.flops DESC, r.batch DESC) largest
ORDER BY measured_ms DESC, network LIMIT 15;
\echo '== all measurements of such networks'
SELECT n, round(mape_pct::numeric, 1) AS mean_error_pct, round(median_ape_pct::numeric, 1) AS median_error_pct,
       round(mae_ms::numeric, 1) AS mean_error_ms, round(within_10_pct::numeric) AS within_10_pct,
       round(coverage_pct::numeric) AS in_interval_pct, round(mape_in_domain_pct::numeric, 1) AS mean_error_in_domain_pct
FROM perfmodel.evaluate('demo', (SELECT array_agg(profile_id) FROM result)) WHERE grouped_by = 'overall';

SELECT network, graph_id, gpu, dtype, batch FROM result ORDER BY measured_ms DESC LIMIT 1 \gset
\echo '== the five most expensive operators of' :network 'at batch' :batch 'on' :gpu
SELECT op, class, shape, copies, round(step_ms::numeric, 2) AS step_ms, round(100 * share::numeric, 1) AS share_pct, bound
FROM perfmodel.explain_train_time(:graph_id, :'gpu', :batch, :'dtype', predictor => 'demo')
WHERE node_id IS NOT NULL ORDER BY step_ms DESC LIMIT 5;

\echo '== reports: a made-up history of 20,000 jobs, and how good the predictor is'
\o /dev/null
\i demo/jobs.sql
\pset tuples_only on
\pset format unaligned
\o demo_jobs.html
SELECT perfmodel.report('job', title => 'Jobs of the demo');
\o demo_predictor.html
SELECT perfmodel.report(predictor => 'demo', title => 'The predictor of the demo');
\o
SELECT format('%s jobs of %s teams took %s GPU-hours; %s takes %s %% of them.', to_char(sum(jobs), 'FM999,999'), count(*), to_char(sum(hours), 'FM999,999'),
              (array_agg(team ORDER BY hours DESC))[1], round(100 * max(hours) / sum(hours)))
FROM (SELECT team, count(*) AS jobs, sum(gpu_count * duration_s / 3600)::numeric AS hours FROM job GROUP BY team) t;
SELECT format('On RTX 3090s alone the same work would take %s GPU-hours.', to_char(sum(hours * there / here), 'FM999,999'))
FROM (SELECT gpu_count * duration_s / 3600 AS hours, perfmodel.predict_train_time(graph_id, gpu, batch, dtype, layout, framework) AS here,
             perfmodel.predict_train_time(graph_id, 'RTX 3090', batch, 'amp', layout, framework) AS there FROM job) j;
SELECT format('Predictor demo, on the %s measurements that it was not trained on, networks that it knows among them: mean error %s %%, %s %% inside of the interval of 90 %%; verdict: %s.',
              n, round(mape_pct::numeric, 1), round(coverage_pct::numeric), replace(verdict, '_', ' ')) FROM perfmodel.drift('demo', '{}');
