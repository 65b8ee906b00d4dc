-- All kinds on all splits: the figures of cross_validate, in one table.
SET client_min_messages = warning;
CREATE TEMP TABLE board AS SELECT row_number() OVER () AS place, l.*
FROM perfmodel.leaderboard('{roofline,linear,linear}', folds => 4) AS l;
SELECT split, count(*) AS kinds, bool_and(n > 0 AND rmse_ms >= mae_ms * (1 - 1e-9) AND train_s >= 0 AND predict_us > 0) AS sane
FROM board GROUP BY split ORDER BY split;
SELECT bool_and(place = wanted) AS ordered
FROM (SELECT place, row_number() OVER (ORDER BY split, mape_pct, kind) AS wanted FROM board) AS b;
SELECT b.split, b.kind, b.n = c.n AS n, abs(b.mape_pct - c.mape_pct) <= 0.0001 AS mape, abs(b.mae_ms - c.mae_ms) <= 0.001 AS mae, abs(b.rmse_ms - c.rmse_ms) <= 0.001 AS rmse
FROM board AS b, LATERAL perfmodel.cross_validate(b.kind, perfmodel.all_profiles(), 4, b.split) AS c
WHERE c.grouped_by = 'overall' ORDER BY b.split, b.kind;
-- options go to their kind; every kind is tested on the same rows
SELECT kind, split, n, mape_pct > 0 AS tested
FROM perfmodel.leaderboard('{mdot,linear}', '{gpu}',
    options => '{"mdot": {"epochs":2,"d_model":16,"heads":2,"layers":1,"d_operator":8,"hidden":8}}') ORDER BY kind;
SELECT (SELECT mape_pct FROM perfmodel.leaderboard('{linear}', '{batch}', options => '{"linear": {"ridge": 1000}}'))
     <> (SELECT mape_pct FROM perfmodel.leaderboard('{linear}', '{batch}')) AS ridge_matters;
-- those of a kind that is not asked for are checked, and it does not run
SELECT array_agg(kind) AS kinds FROM perfmodel.leaderboard('{linear}', '{structure}', 3, options => '{"roofline": {}}');
-- chosen rows
SELECT n = (SELECT count(*) FROM perfmodel.profile WHERE gpu = 'T4') AS chosen
FROM perfmodel.leaderboard('{linear}', '{structure}', 3, (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE gpu = 'T4'));
-- nothing to do
SELECT count(*) FROM perfmodel.leaderboard('{}');
SELECT count(*) FROM perfmodel.leaderboard('{linear}', '{}');

-- errors come before a kind that takes long is trained: mdot on all rows would take minutes
SET statement_timeout = '20s';
SELECT split_part(helper.error_of($$SELECT * FROM perfmodel.leaderboard('{mdot,none}')$$), E'\n', 1) AS error_of;
SELECT helper.error_of($$SELECT * FROM perfmodel.leaderboard('{mdot,NULL}')$$);
SELECT helper.error_of($$SELECT * FROM perfmodel.leaderboard('{mdot}', '{structure,time}')$$);
SELECT helper.error_of($$SELECT * FROM perfmodel.leaderboard('{mdot}', '{structure,NULL}')$$);
SELECT helper.error_of($$SELECT * FROM perfmodel.leaderboard('{mdot}', folds => 1)$$);
SELECT helper.error_of($$SELECT * FROM perfmodel.leaderboard('{mdot}', folds => NULL)$$);
SELECT helper.error_of($$SELECT * FROM perfmodel.leaderboard('{mdot}', profiles => '{-1}')$$);
SELECT helper.error_of($$SELECT * FROM perfmodel.leaderboard('{mdot}', profiles => '{}')$$);
SELECT split_part(helper.error_of($$SELECT * FROM perfmodel.leaderboard('{mdot,linear}', options => '{"linear": {"rigde": 1}}')$$), E'\n', 1) AS error_of;
SELECT split_part(helper.error_of($$SELECT * FROM perfmodel.leaderboard('{mdot}', options => '{"mdto": {}}')$$), E'\n', 1) AS error_of;
SELECT helper.error_of($$SELECT * FROM perfmodel.leaderboard('{mdot}', options => '{"mdot": 3}')$$);
SELECT helper.error_of($$SELECT * FROM perfmodel.leaderboard('{mdot}', options => '[]')$$);
-- a split that the rows do not allow fails at the kind that is trained fastest
SELECT helper.error_of($$SELECT * FROM perfmodel.leaderboard('{mdot,linear}', '{structure,family}', folds => 20)$$);
RESET statement_timeout;
-- the rights of cross_validate are asked for
CREATE ROLE pm_test_board;
SET ROLE pm_test_board;
SELECT perfmodel.leaderboard('{linear}');
RESET ROLE;
DROP ROLE pm_test_board;
-- objects planted in front of the server's own do not run
CREATE SCHEMA evil;
CREATE FUNCTION evil.trap(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;
CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.trap);
CREATE FUNCTION evil.unnest(text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;
SET search_path = evil, pg_catalog;
SELECT count(*) FROM perfmodel.leaderboard('{linear}', '{batch}');
RESET search_path;
DROP SCHEMA evil CASCADE;
DROP TABLE board;
