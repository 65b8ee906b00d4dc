#!/bin/sh
# Each card left out in turn: what is predicted of it from its data sheet, after recalibrate() with a few networks, and
# from steps that were measured on other cards (predict_from).
#
#     bench/cards.sh DATA_DIR          DATA_DIR as for make pretrained
#
# Rows are those that tools/pretrain_rows.py gathers. KIND (default opclass), PROBES (default "1 2 5 10 20"),
# OPTIONS, OPERATORS=1 (with the single operators of tools/pretrain_operators.py, those of the card left out too), and CARDS=0 (no cards left out: only the table of networks and families left out) in the environment.
set -eu
. "$(dirname "$0")/../test/lib.sh"
data=$(data_folder "${1:?usage: bench/cards.sh DATA_DIR}")
kind=${KIND:-opclass} cards=${CARDS:-1} probes=${PROBES:-1 2 5 10 20} options=${OPTIONS:-'{}'}

need_packages
private_copy
mkdir "$work/rows"
python3 "$root/tools/pretrain_rows.py" "$data" "$work/rows" >&2
echo operator,gpu,batch,dtype,layout,framework,forward_ms,backward_ms,spread,measured_at,source >"$work/rows/operators.csv"
[ "${OPERATORS:-0}" = 0 ] || python3 "$root/tools/pretrain_operators.py" "$data" "$work/rows/operators.csv" >&2
chmod -R a+rX "$work/rows"
build_and_stage
cat >"$work/cards.sql" <<SQL
\\set ON_ERROR_STOP 1
\\pset footer off
SET client_min_messages = warning;
CREATE EXTENSION perfmodel;
CREATE TABLE doc (j jsonb);
\\copy doc FROM '$work/rows/graphs.ndjson' WITH (FORMAT csv, QUOTE e'\\x01', DELIMITER e'\\x02')
SELECT count(perfmodel.load_graph(j)) AS graphs FROM doc;
CREATE TABLE row (graph text, gpu text, batch int, dtype text, layout text, framework text, optimizer text, step_ms float8, source text, mode text, forward_ms float8);
\\copy row FROM '$work/rows/rows.csv' WITH (FORMAT csv, HEADER)
-- networks that keep a card busy at batch 12; of the RTX 3090 the rows of one PyTorch and layout
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, layout, framework, optimizer, step_ms, source)
SELECT perfmodel.graph_id(graph), perfmodel.gpu_name(gpu), batch, dtype, layout, framework, optimizer, step_ms, source FROM row
WHERE mode = 'train' AND (source IN ('neusight', 'cnn_benchmarks', 'lambda_tf') OR source = 'timm' AND framework LIKE '%1.12%' AND layout = 'nchw'
   OR source = 'torchvision_gpu_bench' AND graph ~ '^(vgg|wide_resnet|resnet50|resnet101|resnet152|resnext)');
\\copy perfmodel.op_profile (operator, gpu, batch, dtype, layout, framework, forward_ms, backward_ms, spread, measured_at, source) FROM '$work/rows/operators.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE result (card text, method text, n bigint, mape_pct float8);
CREATE TABLE pair (split text, profile_id bigint, gpu text, step_ms float8, graph_ms float8, from_ms float8, one_ms float8, ratio_ms float8, low_ms float8, high_ms float8);
CREATE FUNCTION score(predictor text, card text, method text, ids bigint[]) RETURNS void LANGUAGE sql AS \$f\$
    INSERT INTO result SELECT card, method, n, mape_pct FROM perfmodel.evaluate(predictor, ids) WHERE grouped_by = 'overall' \$f\$;
DO \$d\$
DECLARE
    c text; k int; pick bigint[]; nets bigint[]; train bigint[]; rows bigint[];
BEGIN
    FOR c IN SELECT gpu FROM perfmodel.profile GROUP BY gpu HAVING count(DISTINCT graph_id) >= 3 AND count(*) < 400 AND $cards > 0 ORDER BY gpu LOOP
        SELECT array_agg(profile_id) FILTER (WHERE gpu <> c), array_agg(profile_id) FILTER (WHERE gpu = c) INTO train, rows FROM perfmodel.profile;
        PERFORM perfmodel.train('loo', '$kind', train, '$options'::jsonb || '{"calibration_folds": 0}');
        PERFORM score('loo', c, ' sheet', rows);
        -- steps of the same network, batch and format on other cards: the median of their ratios
        INSERT INTO result SELECT c, 'from others', count(*), 100 * avg(abs(f.ms / f.step_ms - 1)) FROM (
            SELECT p.profile_id, p.step_ms, exp(percentile_cont(0.5) WITHIN GROUP (ORDER BY ln(x.step_ms))) AS ms
            FROM perfmodel.profile AS p JOIN perfmodel.profile AS o USING (graph_id, batch, dtype, layout)
                 CROSS JOIN LATERAL perfmodel.predict_from(o.profile_id, c, predictor => 'loo') AS x
            WHERE p.gpu = c AND o.gpu <> c GROUP BY 1, 2) AS f HAVING count(*) > 0;
        INSERT INTO result SELECT c, 'same, sheet', count(*), 100 * avg(abs(perfmodel.predict_train_time(p.graph_id, c, p.batch, p.dtype, p.layout, p.framework, 'loo', p.optimizer) / p.step_ms - 1))
            FROM perfmodel.profile AS p WHERE p.gpu = c AND EXISTS (SELECT FROM perfmodel.profile AS o WHERE o.gpu <> c
                AND (o.graph_id, o.batch, o.dtype, o.layout) = (p.graph_id, p.batch, p.dtype, p.layout)) HAVING count(*) > 0;
        FOREACH k IN ARRAY string_to_array('$probes', ' ')::int[] LOOP
            CONTINUE WHEN (SELECT count(DISTINCT graph_id) < k + 3 FROM perfmodel.profile WHERE gpu = c);
            SELECT array_agg(profile_id), array_agg(DISTINCT graph_id) INTO pick, nets FROM perfmodel.profile WHERE gpu = c AND graph_id IN
                (SELECT graph_id FROM perfmodel.profile JOIN perfmodel.graph USING (graph_id) WHERE gpu = c GROUP BY graph_id, name ORDER BY md5(name) LIMIT k);
            PERFORM perfmodel.recalibrate('loo', pick, 'loo probes');
            PERFORM score('loo probes', c, format('%s networks', lpad(k::text, 2)), (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE gpu = c AND graph_id <> ALL (nets)));
            PERFORM score('loo', c, format('%s networks: the same rows, sheet', lpad(k::text, 2)), (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE gpu = c AND graph_id <> ALL (nets)));
            PERFORM perfmodel.drop_predictor('loo probes');
        END LOOP;
        PERFORM perfmodel.drop_predictor('loo');
    END LOOP;
END \$d\$;
-- networks left out, a fifth at a time, then families, and every card known: from the graph, and from the same step on another card
DO \$d\$
DECLARE
    s text;
BEGIN
    FOREACH s IN ARRAY '{networks,families}'::text[] LOOP
    FOR fold IN 0 .. 4 LOOP
        CREATE TEMPORARY TABLE out AS SELECT p.profile_id, p.source IN ('torchvision_gpu_bench', 'neusight', 'cnn_benchmarks') AS tested FROM perfmodel.profile AS p JOIN perfmodel.graph AS g USING (graph_id)
            WHERE CASE s WHEN 'networks' THEN ('x' || left(md5(g.structure), 6))::bit(24)::int % 5 = fold
                       ELSE CASE WHEN g.name LIKE 'vgg%' THEN 0 WHEN g.name LIKE 'wide\_%' THEN 1 WHEN g.name LIKE 'resnext%' THEN 2 WHEN g.name LIKE 'resnet%' THEN 3 ELSE 4 END = fold END;
        DELETE FROM out WHERE s = 'networks' AND NOT tested;
        PERFORM perfmodel.train('loo', '$kind', (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE profile_id NOT IN (SELECT profile_id FROM out)), '$options');
        INSERT INTO pair SELECT s, p.profile_id, p.gpu, p.step_ms, max(perfmodel.predict_train_time(p.graph_id, p.gpu, p.batch, p.dtype, p.layout, p.framework, 'loo', p.optimizer)),
               exp(percentile_cont(0.5) WITHIN GROUP (ORDER BY ln(x.step_ms))), max(x.step_ms) FILTER (WHERE o.profile_id = l.one),
               max(o.step_ms * t.step_ms / h.step_ms) FILTER (WHERE o.profile_id = l.one), max(x.step_ms_low) FILTER (WHERE o.profile_id = l.one), max(x.step_ms_high) FILTER (WHERE o.profile_id = l.one)
            FROM out JOIN perfmodel.profile AS p USING (profile_id) JOIN perfmodel.profile AS o ON (o.graph_id, o.batch, o.dtype, o.layout) = (p.graph_id, p.batch, p.dtype, p.layout) AND o.gpu <> p.gpu
                 CROSS JOIN LATERAL perfmodel.predict_from(o.profile_id, p.gpu, predictor => 'loo') AS x
                 CROSS JOIN LATERAL perfmodel.predict(p.graph_id, p.gpu, p.batch, p.dtype, p.layout, o.framework, 'loo', 0.9, o.optimizer) AS t
                 CROSS JOIN LATERAL perfmodel.predict(p.graph_id, o.gpu, p.batch, p.dtype, p.layout, o.framework, 'loo', 0.9, o.optimizer) AS h
                 CROSS JOIN LATERAL (SELECT q.profile_id AS one FROM perfmodel.profile AS q WHERE (q.graph_id, q.batch, q.dtype, q.layout) = (p.graph_id, p.batch, p.dtype, p.layout)
                                     AND q.gpu <> p.gpu ORDER BY md5(q.gpu || p.gpu) LIMIT 1) AS l
            WHERE out.tested GROUP BY 1, 2, 3, 4;
        PERFORM perfmodel.drop_predictor('loo');
        DROP TABLE out;
    END LOOP;
    END LOOP;
END \$d\$;
SELECT split AS left_out, count(*) AS rows, round((100 * avg(abs(graph_ms / step_ms - 1)))::numeric, 1) AS from_graph_mape_pct, round((100 * avg(abs(ratio_ms / step_ms - 1)))::numeric, 1) AS ratio_mape_pct,
       round((100 * avg(abs(one_ms / step_ms - 1)))::numeric, 1) AS from_one_card_mape_pct, round((100 * avg(abs(from_ms / step_ms - 1)))::numeric, 1) AS from_all_cards_mape_pct,
       round((100 * avg((step_ms BETWEEN low_ms AND high_ms)::int))::numeric, 1) AS coverage_pct, round((100 * avg((high_ms - low_ms) / one_ms))::numeric) AS width_pct FROM pair GROUP BY 1 ORDER BY 1 DESC;
SELECT card, n, round(mape_pct::numeric, 1) AS mape_pct FROM result WHERE method = ' sheet' ORDER BY 3;
SELECT method, count(*) AS cards, sum(n) AS rows, round((percentile_cont(0.5) WITHIN GROUP (ORDER BY mape_pct))::numeric, 1) AS median_of_cards,
       round(avg(mape_pct)::numeric, 1) AS mean_of_cards, round(max(mape_pct)::numeric, 1) AS worst_card FROM result GROUP BY 1 ORDER BY 1;
SQL
with_server psql -qX -f "$work/cards.sql"
