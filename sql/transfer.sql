-- Kind habitat and the split "transfer": a network on a card, from its measurements on others.
\pset format unaligned
SET client_min_messages = warning;
SELECT array_agg(profile_id) AS both FROM perfmodel.profile WHERE dtype = 'fp32' AND layout = 'nchw' AND mode = 'train' AND world_size = 1 \gset
-- without the rows of one network on the T4
SELECT graph_id AS g, batch AS b FROM perfmodel.profile WHERE profile_id = ANY (:'both') AND gpu = 'T4' AND graph_id IN
    (SELECT graph_id FROM perfmodel.profile WHERE profile_id = ANY (:'both') AND gpu = 'RTX 3090') ORDER BY graph_id, batch LIMIT 1 \gset
SELECT perfmodel.train('other card', 'habitat', (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE profile_id = ANY (:'both') AND NOT (gpu = 'T4' AND graph_id = :g))) > 0 AS trained;
SELECT abs(q.step_ms / p.step_ms - 1) < 0.3 AS near, q.in_domain, 'not_measured_elsewhere' = ANY (coalesce(q.reasons, '{}')) AS missing, q.step_ms BETWEEN q.step_ms_low AND q.step_ms_high AS inside
FROM perfmodel.profile AS p, perfmodel.predict(p.graph_id, p.gpu, p.batch, p.dtype, predictor => 'other card') AS q
WHERE p.profile_id = ANY (:'both') AND p.gpu = 'T4' AND p.graph_id = :g AND p.batch = :b;
-- its own rows on a card do not tell of that card
SELECT in_domain, 'not_measured_elsewhere' = ANY (reasons) AS missing, note LIKE '%not measured on another device%' AS said, step_ms_high / step_ms_low > 1 AS width
FROM perfmodel.predict(:g, 'RTX 3090', :b, predictor => 'other card');
SELECT in_domain, 'not_measured_elsewhere' = ANY (reasons) AS missing FROM perfmodel.predict(:g, 'T4', 100000, predictor => 'other card');
-- only networks that were measured on both cards are tested, and each once
SELECT kind, v.n = (SELECT count(*) FROM perfmodel.profile WHERE profile_id = ANY (:'both') AND graph_id IN (SELECT graph_id FROM perfmodel.profile WHERE profile_id = ANY (:'both')
        GROUP BY 1 HAVING count(DISTINCT gpu) = 2)) AS all_of_them, v.mape_pct < 100 AS sane, v.in_domain_pct > 0 AS inside
FROM unnest('{habitat,opclass}'::text[]) AS kind, perfmodel.cross_validate(kind, :'both', 3, 'transfer') AS v WHERE v.grouped_by = 'overall' ORDER BY 1;
SELECT kind, split, n > 0 AS tested FROM perfmodel.leaderboard('{habitat,roofline}', '{transfer}', 3, :'both') ORDER BY kind;
SELECT helper.error_of(format('SELECT * FROM perfmodel.cross_validate(''habitat'', %L, 3, ''transfer'')',
    (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE profile_id = ANY (:'both') AND gpu = 'T4'))) AS error;
SELECT perfmodel.drop_predictor('other card') > 0 AS dropped;
