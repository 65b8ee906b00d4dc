#!/bin/sh
# The predictor that comes trained, on steps that others timed on one GPU of machines in clouds and clusters:
#
#     bench/clouds.sh DATA_DIR
#
# DATA_DIR/scaling/profiles.csv has the steps: Sia's and Gavel's. Taken are the networks whose sizes are known: ResNet-50, ResNet-18
# for images of 32 x 32, and BERT base with 384 tokens. PRETRAINED in the environment: a file of tools/pretrain.sh to ask instead.
set -eu
. "$(dirname "$0")/pretrained_server.sh"
data=$(data_folder "${1:?usage: bench/clouds.sh DATA_DIR}")

published "$data/scaling/profiles.csv"
cat >"$work/ask.sql" <<SQL
CREATE TABLE row (model text, gpu text, batch int, world_size int, nodes int, placement text, step_ms float8, sync_ms float8, accumulation_steps int,
                  precision text, framework text, cluster text, interconnect text, source_file text);
\\copy row FROM '$work/rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE network (model text, graph text, optimizer text);
INSERT INTO network VALUES ('bert', 'bert_base_squad@s384', 'adam'), ('cifar10', 'resnet18_cifar@32', 'sgd_momentum'), ('imagenet', 'resnet50@224', 'sgd_momentum'),
                           ('gavel:ResNet-18', 'resnet18_cifar@32', 'sgd_momentum'), ('gavel:ResNet-50', 'resnet50@224', 'sgd_momentum');
-- the cards of the machines: azure's ND40rs_v2, DGX A100, Google's P100 and Amazon's V100 of 16 GB
CREATE TABLE card (gpu text, name text);
INSERT INTO card VALUES ('T4-16GB', 'T4'), ('QuadroRTX6000-24GB', 'Quadro RTX 6000'), ('RTX2080Ti-11GB', 'RTX 2080 Ti'), ('V100-32GB', 'V100-SXM2-32GB'),
                        ('A100-40GB', 'A100-SXM4-40GB'), ('K80', 'K80'), ('P100', 'P100-PCIE-16GB'), ('V100', 'V100-SXM2-16GB');
CREATE TABLE question AS
SELECT cluster, graph, name, batch, optimizer, step_ms AS measured, CASE WHEN precision LIKE 'amp%' THEN 'amp' WHEN precision LIKE '%TF32%' THEN 'tf32' ELSE 'fp32' END AS dtype
FROM row JOIN network USING (model) JOIN card USING (gpu) WHERE world_size = 1;
CREATE TABLE asked AS
SELECT q.*, p.step_ms, step_ms_low, step_ms_high FROM question AS q, LATERAL perfmodel.predict(perfmodel.graph_id(graph), name, batch, dtype, optimizer => q.optimizer) AS p;
-- at small batches a step waits for the host, which differs between machines
CREATE VIEW judged AS
SELECT *, batch >= (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY batch) FROM asked AS o WHERE (o.cluster, o.graph, o.name) = (a.cluster, a.graph, a.name)) AS large FROM asked AS a;
SELECT name AS card, graph, dtype, cluster, count(*) AS n, round((100 * avg(abs(step_ms / measured - 1)))::numeric, 1) AS mape_pct,
       round((100 * avg(abs(step_ms / measured - 1)) FILTER (WHERE large))::numeric, 1) AS large_mape_pct,
       round(100 * avg(step_ms / measured - 1) FILTER (WHERE large)) AS large_bias_pct,
       round(100 * avg((measured BETWEEN step_ms_low AND step_ms_high)::int)) AS coverage_pct, round(avg(step_ms_high / step_ms_low)::numeric, 1) AS high_over_low
FROM judged GROUP BY GROUPING SETS ((1, 2, 3, 4), (3), ()) ORDER BY 3, 2, 1, 4;
-- what their programs do once a step, however many samples it has, is in the step and not in its growth
SELECT name AS card, graph, dtype, cluster, count(*) AS n, round((1000 * regr_slope(measured, batch))::numeric) AS us_a_sample,
       round((1000 * regr_slope(step_ms, batch))::numeric) AS predicted_us_a_sample, round((regr_slope(step_ms, batch) / regr_slope(measured, batch))::numeric, 2) AS ratio
FROM asked GROUP BY 1, 2, 3, 4 HAVING count(*) >= 4 ORDER BY 3, 2, 1, 4;
SQL
ask "$work/ask.sql"
