-- Training in the background.
\pset format unaligned
SET client_min_messages = warning;
-- Wait until a run has ended; how it did.
CREATE FUNCTION helper.wait_for(run bigint) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..3000 LOOP
        IF EXISTS (SELECT FROM perfmodel.training_status WHERE run_id = run AND status <> 'running') THEN
            RETURN (SELECT concat_ws(': ', status, message) FROM perfmodel.training_status WHERE run_id = run);
        END IF;
        PERFORM pg_sleep(0.02);
    END LOOP;
    RETURN 'still running';
END $$;
-- Whether all workers of this database go away.
CREATE FUNCTION helper.no_worker() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..500 LOOP
        IF NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'perfmodel training' AND datname = current_database()) THEN
            RETURN true;
        END IF;
        PERFORM pg_sleep(0.02), pg_stat_clear_snapshot();
    END LOOP;
    RETURN false;
END $$;
\set small '{"epochs":8,"d_model":16,"heads":2,"layers":1,"d_operator":8,"hidden":8,"seed":7}'
\set long '{"epochs":100000,"d_model":16,"heads":2,"layers":1,"d_operator":8,"hidden":8}'

-- the same bytes as in the foreground
SELECT perfmodel.train_async('background', options => :'small') AS run \gset
SELECT helper.wait_for(:run);
SELECT perfmodel.train('foreground', options => :'small') > 0 AS trained;
SELECT count(DISTINCT data) AS different FROM perfmodel.predictor JOIN perfmodel.predictor_weights USING (predictor_id)
WHERE name IN ('background', 'foreground');
SELECT b.profiles = f.profiles AS profiles, b.profiles_hash = f.profiles_hash AS hash, b.gpus = f.gpus AS gpus,
       b.frameworks = f.frameworks AS frameworks, b.valid_mape = f.valid_mape AS error
FROM perfmodel.predictor b, perfmodel.predictor f WHERE b.name = 'background' AND f.name = 'foreground';
-- and a row of the same kind
SELECT s.predictor, s.predictor_id = p.predictor_id AS id, background, s.status, phase, s.n_profiles, epoch = s.epochs AS all_epochs,
       loss > 0 AS loss, learning_rate > 0 AS rate, s.valid_mape = round(p.valid_mape::numeric, 4) AS error, threads > 0 AS threads, seconds > 0 AS seconds,
       seconds_left, heartbeat_at IS NOT NULL AS heartbeat, finished_at >= started_at AS finished, message, trained_by = CURRENT_USER AS by
FROM perfmodel.training_status s JOIN perfmodel.predictor p ON p.name = s.predictor WHERE s.predictor LIKE '%ground' ORDER BY run_id;
SELECT options = :'small'::jsonb AS options, profiles FROM perfmodel.training_run WHERE run_id = :run;
SELECT perfmodel.drop_predictor('foreground') > 0 AND perfmodel.drop_predictor('background') > 0 AS dropped;

-- what can be refused at once is
SELECT helper.error_of(q) FROM unnest(ARRAY['SELECT perfmodel.train_async(NULL)', 'SELECT perfmodel.train_async('''')',
    'SELECT perfmodel.train_async(''x'', NULL)', 'SELECT perfmodel.train_async(''x'', ''mdott'')',
    'SELECT perfmodel.train_async(''x'', ''roofline'', options => ''{"epoch": 1}'')', 'SELECT perfmodel.train_async(''line'')']) AS q;
BEGIN READ ONLY;
SELECT perfmodel.train_async('x', 'linear');
ROLLBACK;

-- what only shows later is in the row
SELECT (array_agg(profile_id ORDER BY profile_id))[1:3] AS few FROM perfmodel.profile \gset
SELECT perfmodel.train_async('few', 'linear', :'few') AS run \gset
SELECT helper.wait_for(:run);
SELECT perfmodel.train_async('missing', 'linear', :'few'::bigint[] || -2) AS run \gset
SELECT helper.wait_for(:run);
SELECT predictor_id, predictor, status, phase, error_code, finished_at > started_at AS ended FROM perfmodel.training_run WHERE run_id = :run;
SELECT count(*) FROM perfmodel.predictor WHERE name IN ('few', 'missing');

-- settings of the caller apply
SET perfmodel.train_mem = '2MB';
SELECT perfmodel.train_async('large') AS run \gset
RESET perfmodel.train_mem;
SELECT regexp_replace(helper.wait_for(:run), '\d+', 'N', 'g');
SET perfmodel.train_threads = 1;
SELECT perfmodel.train_async('one', 'linear') AS run \gset
RESET perfmodel.train_threads;
SELECT helper.wait_for(:run);
SELECT threads FROM perfmodel.training_status WHERE run_id = :run;
SELECT perfmodel.drop_predictor('one') > 0 AS dropped;

-- settings that suit sessions of people do not
SET default_transaction_isolation = serializable;
ALTER DATABASE contrib_regression SET default_transaction_read_only = on;
ALTER DATABASE contrib_regression SET lock_timeout = '1ms';
SELECT perfmodel.train_async('settings', 'linear') AS run \gset
RESET default_transaction_isolation;
SELECT helper.wait_for(:run);
ALTER DATABASE contrib_regression RESET default_transaction_read_only;
ALTER DATABASE contrib_regression RESET lock_timeout;
SELECT perfmodel.drop_predictor('settings') > 0 AS dropped;

-- it begins when the transaction is committed, and then sees its rows
BEGIN;
UPDATE perfmodel.profile SET step_ms = step_ms * 2;
SELECT perfmodel.train_async('committed', 'linear') AS run \gset
SELECT pg_sleep(0.2);
SELECT status, phase, perfmodel.training_lost(:run) AS lost FROM perfmodel.training_status WHERE run_id = :run;
COMMIT;
SELECT helper.wait_for(:run);
BEGIN;
UPDATE perfmodel.profile SET step_ms = step_ms / 2;
SELECT p.profiles_hash <> (SELECT profiles_hash FROM perfmodel.predictor WHERE name = 'line') AS saw_the_change FROM perfmodel.predictor p WHERE name = 'committed';
COMMIT;
SELECT perfmodel.drop_predictor('committed') > 0 AS dropped;
-- and goes without a trace when it is rolled back
BEGIN;
SELECT perfmodel.train_async('rolled back', 'linear') AS run \gset
ROLLBACK;
SELECT helper.no_worker();
SELECT count(*) AS runs FROM perfmodel.training_run WHERE run_id = :run;

-- one at a time of a name; progress; cancelling
SELECT perfmodel.train_async('long', options => :'long') AS run \gset
SELECT regexp_replace(helper.error_of(format('SELECT perfmodel.%s(''long'', ''linear'')', f)), '\d\d+', 'N', 'g') FROM unnest('{train,train_async}'::text[]) AS f;
DO $$ BEGIN
    FOR i IN 1..1500 LOOP
        EXIT WHEN EXISTS (SELECT FROM perfmodel.training_status WHERE predictor = 'long' AND epoch > 0);
        PERFORM pg_sleep(0.02);
    END LOOP;
END $$;
SELECT status, phase, n_profiles, fold, folds, epoch BETWEEN 1 AND epochs AS epoch, epochs, loss > 0 AS loss, learning_rate > 0 AS rate,
       seconds > 0 AS seconds, seconds_left > 0 AS seconds_left, heartbeat_at > started_at AS heartbeat,
       finished_at, message FROM perfmodel.training_status WHERE run_id = :run;
SELECT query ~ '^perfmodel training "long": .*epoch \d+ of 100000: loss' AS activity FROM pg_stat_activity WHERE backend_type = 'perfmodel training' AND datname = current_database();
SELECT clock_timestamp() AS t0 \gset
SELECT perfmodel.cancel_training(:run);
SELECT helper.wait_for(:run);
SELECT clock_timestamp() - :'t0' < '1.5 s' AS soon;
SELECT status, phase, error_code, finished_at > started_at AS ended, seconds_left FROM perfmodel.training_run WHERE run_id = :run;
SELECT count(*) FROM perfmodel.predictor WHERE name = 'long';
-- it is over, or never was
SELECT perfmodel.cancel_training(:run);
SELECT helper.error_of('SELECT perfmodel.cancel_training(-1)');
SELECT perfmodel.cancel_training(NULL), perfmodel.training_lost(:run), perfmodel.training_lost(-1);
-- cancelled before it has begun
BEGIN;
SELECT perfmodel.train_async('early', 'linear') AS run \gset
SELECT perfmodel.cancel_training(:run);
COMMIT;
SELECT helper.wait_for(:run);

-- a run whose row is deleted stops; nothing is stored
SELECT perfmodel.train_async('deleted', options => :'long') AS run \gset
DELETE FROM perfmodel.training_run WHERE run_id = :run;
SELECT helper.no_worker();

-- rows that contradict themselves
SELECT split_part(helper.error_of(format('INSERT INTO perfmodel.training_run (predictor, kind, started_at, phase, %s', v)), E'\n', 1) FROM unnest(ARRAY[
    'status) VALUES (''x'', ''y'', now(), ''done'', ''finished'')', 'status, finished_at) VALUES (''x'', ''y'', now(), ''done'', ''lost'', now())',
    'status, finished_at) VALUES (''x'', ''y'', now(), ''done'', ''failed'', now())',
    'status) VALUES (''x'', ''y'', now(), ''dreaming'', ''running'')']) AS v;

-- a row that says "running" without a worker is a failure to whoever looks, and the next training writes it down
INSERT INTO perfmodel.training_run (predictor, kind, started_at, phase, status, background) VALUES ('orphan', 'linear', now(), 'training', 'running', true);
SELECT status, message FROM perfmodel.training_status WHERE predictor = 'orphan';
SELECT perfmodel.train_async('orphan', 'linear') AS run \gset
SELECT helper.wait_for(:run);
SELECT status, error_code, error_message FROM perfmodel.training_run WHERE predictor = 'orphan' ORDER BY run_id;
SELECT perfmodel.drop_predictor('orphan') > 0 AS dropped;

-- rights: to start one as for train and UPDATE of the run besides; to end one as its role
CREATE ROLE pm_test_async;
CREATE ROLE pm_test_other;
GRANT USAGE ON SCHEMA helper TO PUBLIC;
GRANT SELECT ON ALL TABLES IN SCHEMA perfmodel TO pm_test_async, pm_test_other;
GRANT INSERT ON perfmodel.predictor, perfmodel.predictor_weights, perfmodel.training_run TO pm_test_async;
SET ROLE pm_test_async;
SELECT helper.error_of('SELECT perfmodel.train_async(''x'', ''linear'')');
SELECT helper.error_of('SELECT perfmodel.cancel_training(1)');
RESET ROLE;
GRANT EXECUTE ON FUNCTION perfmodel.train_async, perfmodel.cancel_training TO pm_test_async, pm_test_other;
SET ROLE pm_test_async;
SELECT helper.error_of('SELECT perfmodel.train_async(''x'', ''linear'')');
RESET ROLE;
GRANT UPDATE ON perfmodel.training_run TO pm_test_async;
SET ROLE pm_test_async;
SELECT perfmodel.train_async('by role', options => :'long') AS run \gset
SELECT status, trained_by FROM perfmodel.training_status WHERE run_id = :run;
RESET ROLE;
SET ROLE pm_test_other;
SELECT helper.error_of(format('SELECT perfmodel.cancel_training(%s)', :run));
SET ROLE pm_test_async;
SELECT perfmodel.cancel_training(:run);
SELECT split_part(helper.wait_for(:run), ':', 1) AS status;
-- the worker has no more rights than the role that called
RESET ROLE;
SELECT perfmodel.train_async('of superuser', options => :'long') AS run \gset
SET ROLE pm_test_async;
SELECT helper.error_of(format('SELECT perfmodel.cancel_training(%s)', :run));
-- what the row says of the role does not count
UPDATE perfmodel.training_run SET trained_by = 'pm_test_async' WHERE run_id = :run;
SELECT helper.error_of(format('SELECT perfmodel.cancel_training(%s)', :run));
BEGIN;
SELECT perfmodel.train_async('revoked', 'linear') AS revoked \gset
RESET ROLE;
REVOKE SELECT ON perfmodel.graph FROM pm_test_async;
COMMIT;
SELECT helper.wait_for(:revoked);
SELECT perfmodel.cancel_training(:run);
SELECT split_part(helper.wait_for(:run), ':', 1) AS status;
DROP OWNED BY pm_test_async, pm_test_other;
DROP ROLE pm_test_async, pm_test_other;
DROP FUNCTION helper.wait_for, helper.no_worker;
