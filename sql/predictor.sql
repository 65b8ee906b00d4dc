-- Predictors do not change; one is active; they can be dropped.
\pset format unaligned
SELECT helper.error_of(format('UPDATE perfmodel.predictor SET %s', c)) FROM unnest(ARRAY[
    'kind = ''mdot''', 'options = ''{}''', 'seed = 1', 'profiles = ''{}''', 'valid_mape = 0', 'trained_at = now()']) AS c;
SELECT helper.error_of($$UPDATE perfmodel.predictor_weights SET data = 'x'$$);
UPDATE perfmodel.predictor SET name = 'renamed' WHERE name = 'small';
SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8, predictor => 'renamed') > 0 AS by_new_name;
SELECT helper.error_of($$SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8, predictor => 'small')$$);
UPDATE perfmodel.predictor SET name = 'small' WHERE name = 'renamed';

-- one active
SELECT helper.error_of($$UPDATE perfmodel.predictor SET active = true$$);
SELECT perfmodel.activate_predictor('small') = predictor_id AS id, active FROM perfmodel.predictor WHERE name = 'small';
SELECT perfmodel.activate_predictor('small') > 0 AS again;
SELECT name FROM perfmodel.predictor WHERE active;
SELECT helper.error_of(q) FROM unnest(ARRAY[$$SELECT perfmodel.activate_predictor('smal')$$, $$SELECT perfmodel.activate_predictor(NULL)$$,
    $$SELECT perfmodel.drop_predictor('smal')$$, $$SELECT perfmodel.drop_predictor(NULL)$$]) AS q;
SELECT name FROM perfmodel.predictor WHERE active;
-- a trigger of the user's own that keeps the row as it is: that is said, and not that there is no such predictor
BEGIN;
CREATE FUNCTION helper.keep_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
SELECT n AS kept, helper.error_of(format('CREATE TRIGGER keep_row BEFORE UPDATE OR DELETE ON perfmodel.predictor FOR EACH ROW WHEN (OLD.name = %L) EXECUTE FUNCTION helper.keep_row(); %s', n, q)) AS error_of
FROM (VALUES (1, 'line', $$SELECT perfmodel.activate_predictor('line')$$), (2, 'small', $$SELECT perfmodel.activate_predictor('line')$$),
    (3, 'line', $$SELECT perfmodel.drop_predictor('line')$$), (4, 'line', $$SELECT perfmodel.drop_predictor('lime')$$)) AS v (nr, n, q) ORDER BY nr;
ROLLBACK;
SELECT name FROM perfmodel.predictor WHERE active;

-- drop: weights go, the run stays without its predictor; then none is active
BEGIN;
SELECT perfmodel.drop_predictor('small') > 0 AS dropped;
SELECT count(*) FROM perfmodel.predictor_weights w WHERE NOT EXISTS (SELECT FROM perfmodel.predictor p WHERE p.predictor_id = w.predictor_id);
SELECT predictor_id, predictor, kind FROM perfmodel.training_run WHERE predictor = 'small';
SELECT helper.error_of($$SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8)$$);
ROLLBACK;
SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8) > 0 AS back;

-- damaged weights are found out, whichever byte it is; in the version of their format they are those of another library (55000)
BEGIN;
ALTER TABLE perfmodel.predictor_weights DISABLE TRIGGER predictor_weights_immutable;
ALTER TABLE perfmodel.predictor DISABLE TRIGGER predictor_immutable;
CREATE FUNCTION pg_temp.damage(change text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE 'UPDATE perfmodel.predictor_weights SET data = ' || change
        || ' WHERE predictor_id = (SELECT predictor_id FROM perfmodel.predictor WHERE name = ''roof'')';
    -- a new time makes sessions load it again
    UPDATE perfmodel.predictor SET trained_at = clock_timestamp() WHERE name = 'roof';
    result := helper.error_of($q$SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8, predictor => 'roof')$q$);
    RAISE EXCEPTION USING MESSAGE = result;
EXCEPTION WHEN raise_exception THEN
    RETURN left(SQLERRM, 5);
END $$;
SELECT pg_temp.damage('data') AS whole;
SELECT pg_temp.damage('''''') AS empty;
SELECT pg_temp.damage('substring(data FROM 1 FOR length(data) - 1)') AS short;
SELECT pg_temp.damage('data || ''\x00''') AS long;
SELECT count(*) > 100 AS tried, count(*) FILTER (WHERE outcome NOT IN ('XX001', '55000')) AS not_found_out
FROM (SELECT pg_temp.damage(format('set_byte(data, %s, 255 - get_byte(data, %s))', i, i)) AS outcome
      FROM generate_series(0, (SELECT length(data) - 1 FROM perfmodel.predictor_weights JOIN perfmodel.predictor USING (predictor_id)
                               WHERE name = 'roof')) AS i) d;
DELETE FROM perfmodel.predictor_weights WHERE predictor_id = (SELECT predictor_id FROM perfmodel.predictor WHERE name = 'roof');
SELECT regexp_replace(pg_temp.damage('data'), 'id \d+', 'id N') AS none;
ROLLBACK;
SELECT perfmodel.activate_predictor('line') > 0 AS activated;
-- whoever asks hears which predictor it is, and how to go on
BEGIN;
DELETE FROM perfmodel.predictor_weights USING perfmodel.predictor AS p WHERE p.predictor_id = predictor_weights.predictor_id AND p.name = 'roof';
SELECT regexp_replace(helper.error_of($$SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8, predictor => 'roof')$$), 'id \d+', 'id N') AS without;
INSERT INTO perfmodel.predictor_weights SELECT predictor_id, 0, '\x00' FROM perfmodel.predictor WHERE name = 'roof';
SELECT q, helper.error_of(q) FROM unnest(ARRAY['SELECT perfmodel.predict(perfmodel.graph_id(''anet4@16''), ''T4'', 8, predictor => ''roof'')', 'SELECT perfmodel.known_gpus(''roof'')',
    'SELECT perfmodel.corrections(''roof'')', 'SELECT perfmodel.recalibrate(''roof'')', 'SELECT perfmodel.train(''x'', warm_start => ''roof'')', 'SELECT perfmodel.evaluate(''roof'')']) AS q;
SELECT perfmodel.activate_predictor('roof') > 0 AS activated;
SELECT helper.error_of($$SELECT perfmodel.predict(perfmodel.graph_id('anet4@16'), 'T4', 8)$$) ~ 'predictor "roof" cannot be read' AS active;
SELECT perfmodel.drop_predictor('roof') > 0 AS dropped;
ROLLBACK;
-- parts that somebody has compressed are not unpacked without end
BEGIN;
CREATE TEMPORARY TABLE packed (data bytea);
INSERT INTO packed VALUES (convert_to(repeat('x', 50000000), 'UTF8'));
DELETE FROM perfmodel.predictor_weights USING perfmodel.predictor AS p WHERE p.predictor_id = predictor_weights.predictor_id AND p.name = 'roof';
INSERT INTO perfmodel.predictor_weights SELECT predictor_id, part, data FROM perfmodel.predictor, packed, generate_series(0, 42) AS part WHERE name = 'roof';
SELECT helper.error_of($$SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8, predictor => 'roof')$$);
ROLLBACK;
