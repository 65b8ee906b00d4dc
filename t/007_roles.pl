# The recipes of docs/roles.md as they stand there: a reader can predict and
# nothing else, a trainer can do its work and no more.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PerfmodelTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main');
$node->start;
fill($node);
$node->safe_psql('postgres', $_) for map { doc_sql('docs/roles.md', $_) } ('A dashboard reader', 'An analyst', 'A trainer');
$node->safe_psql('postgres', q{
    CREATE ROLE grafana LOGIN IN ROLE dashboard_reader;
    CREATE ROLE analyst LOGIN IN ROLE perfmodel_analyst;
    CREATE ROLE engineer LOGIN IN ROLE trainer;
    CREATE ROLE visitor LOGIN;
    CREATE TABLE job AS SELECT graph_id, gpu, batch FROM perfmodel.profile;
    CREATE VIEW job_forecast AS SELECT j.*, perfmodel.predict_train_time(graph_id, gpu, batch) AS step_ms FROM job j;
    GRANT SELECT ON job_forecast TO grafana, visitor;
    GRANT USAGE ON SCHEMA helper TO PUBLIC});

# Output of a query of a user, or the error.
sub as
{
    my ($user, $query) = @_;
    my ($rc, $out, $err) = $node->psql('postgres', $query, extra_params => [ '-U', $user ]);
    return $rc == 0 ? $out : $err =~ /ERROR:  (.*)/ ? $1 : $err;
}
my $ask = q{perfmodel.graph_id('anet4@16'), 'T4', 8};
my %reads = (
    "a prediction" => "SELECT perfmodel.predict_train_time($ask) > 0",
    "an interval" => "SELECT step_ms > 0 FROM perfmodel.predict($ask)",
    "an explanation" => "SELECT count(*) > 0 FROM perfmodel.explain_train_time($ask)",
    "a view with predictions" => "SELECT bool_and(step_ms > 0) FROM job_forecast",
    "the predictors" => "SELECT count(*) > 0 FROM perfmodel.predictor",
    "what is known of each device" => "SELECT count(*) > 0 FROM perfmodel.gpu_support",
    "the predictors at a glance" => "SELECT count(*) > 0 FROM perfmodel.predictors");
is(as('grafana', $reads{$_}), 't', "a reader gets $_") for sort keys %reads;
is(as('grafana', always_parallel($node) . " $reads{'a view with predictions'}"),
    't', 'and from parallel workers');
like(as('visitor', $reads{$_}), qr/^permission denied for /, "others do not get $_") for sort keys %reads;
is(as('visitor', q{SELECT perfmodel.gpu_name('rtx_3090')}), 'RTX 3090', 'but data sheets');

# nothing else: whatever functions and tables there are
my %may = (
    grafana => [ qw(gpu_support graph predictor predictor_weights predictors) ],
    analyst => [ qw(active_drift active_errors convergence gpu_support graph graph_node op_profile predictor predictor_weights predictors profile training_run training_status) ]);
foreach my $user (sort keys %may)
{
    is($node->safe_psql('postgres', qq{SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class
            WHERE relnamespace = 'perfmodel'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')
              AND relname NOT IN ('gpu', 'interconnect', 'cluster', 'price', 'carbon_intensity', 'memory_factor', 'name_alias')
              AND has_table_privilege('$user', oid, 'SELECT')}), "@{$may{$user}}", "tables that $user may read");
    is($node->safe_psql('postgres', qq{SELECT count(*) FROM pg_class
            WHERE relnamespace = 'perfmodel'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')
              AND (has_table_privilege('$user', oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
                   OR has_any_column_privilege('$user', oid, 'INSERT, UPDATE, REFERENCES'))}), '0', "$user may change none");
    is($node->safe_psql('postgres', qq{SELECT string_agg(proname, ' ' ORDER BY proname) FROM pg_proc
            WHERE pronamespace = 'perfmodel'::regnamespace AND provolatile = 'v' AND prorettype <> 'trigger'::regtype
              AND proname NOT IN ('leaderboard', 'may_commit', 'training_lost') AND has_function_privilege('$user', oid, 'EXECUTE')}), '', "nor call what stores something");
    is($node->safe_psql('postgres', qq{SELECT has_schema_privilege('$user', 'perfmodel', 'CREATE')}), 'f', 'nor create anything there');
    is(as($user, $_), 'permission denied for function ' . ($_ =~ /perfmodel\.(\w+)/)[0], "$user: $_")
        for (q{SELECT perfmodel.train('x', 'linear')}, q{SELECT perfmodel.activate_predictor('line')}, q{SELECT perfmodel.drop_predictor('line')},
             q{SELECT perfmodel.load_graph('{}')}, q{SELECT perfmodel.load_onnx('x', '')}, q{SELECT perfmodel.train_async('x')},
             q{SELECT perfmodel.recalibrate()}, q{SELECT perfmodel.cancel_training(1)}, q{SELECT perfmodel.cross_validate('linear')});
    like(as($user, q{SELECT * FROM perfmodel.leaderboard('{linear}')}), qr/^permission denied/, 'leaderboard trains');
    # a setting made before the library is loaded is judged when it is
    is(as($user, q{SET perfmodel.train_mem = '7TB'; SELECT FROM perfmodel.version(); SHOW perfmodel.train_mem}), '2GB', "$user: a setting for superusers");
}
like(as('grafana', 'SELECT * FROM perfmodel.evaluate()'), qr/^permission denied for table profile/, 'a reader does not see measurements');
like(as('grafana', "SELECT * FROM perfmodel.what_if_change($ask)"), qr/^permission denied for table profile/, 'nor what is made of them');
like(as('grafana', q{SELECT * FROM perfmodel.time_to_target(perfmodel.graph_id('anet4@16'), 'T4', 8)}), qr/^permission denied for table convergence/, 'nor trainings');
is(as('analyst', "SELECT count(*) > 1 FROM perfmodel.what_if_change($ask)"), 't', 'an analyst asks what a change would do');
is(as('analyst', q{SELECT count(*) >= 0 FROM perfmodel.suggest_probes('T4')}), 't', 'which networks to measure');
is(as('analyst', q{SELECT note LIKE 'no answer: perfmodel.convergence%' FROM perfmodel.time_to_target(perfmodel.graph_id('anet4@16'), 'T4', 8)}), 't', 'and how long until a target');
is(as('analyst', q{SELECT n > 0 FROM perfmodel.evaluate('line') WHERE grouped_by = 'overall'}), 't', 'an analyst judges');
is(as('analyst', q{SELECT measurements > 0 FROM perfmodel.active_errors WHERE grouped_by = 'overall'}), 't', 'also at a glance');
is(as('analyst', q{SELECT count(*) >= 0 FROM perfmodel.active_drift}), 't', 'and whether the active one still holds');
is(as('analyst', q{SELECT n_profiles > 0 FROM perfmodel.estimate_training('linear')}), 't', 'and asks what a training would take');

# a trainer does its work
my $quiet = 'SET client_min_messages = warning;';
is(as('engineer', $_), 't', "a trainer: $_") for (
    q{SELECT perfmodel.load_graph(helper.cnn('mine', 8, 2)) > 0},
    q{INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms) VALUES (perfmodel.graph_id('mine'), 'T4', 8, 1) RETURNING true},
    "$quiet SELECT perfmodel.train('mine', 'linear') > 0",
    "$quiet SELECT n > 0 FROM perfmodel.cross_validate('linear', folds => 2) WHERE grouped_by = 'overall'",
    q{SELECT bool_and(status = 'finished') FROM perfmodel.training_status},
    q{SELECT perfmodel.train_async('unheard', 'linear') > 0},
    q{SELECT perfmodel.activate_predictor('mine') > 0},
    "SELECT perfmodel.predict_train_time($ask) > 0",
    q{SELECT perfmodel.activate_predictor('small') > 0},
    q{SELECT perfmodel.drop_predictor('mine') > 0},
    q{INSERT INTO perfmodel.convergence (graph_id, batch, reached, samples_to_target) VALUES (perfmodel.graph_id('mine'), 8, true, 1000) RETURNING true},
    q{INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES ('graph', 'ours', 'mine') RETURNING true},
    qq{$quiet WITH w AS (INSERT INTO perfmodel.profile (graph_id, gpu, batch, world_size, step_ms)
           SELECT perfmodel.graph_id('anet4\@16'), 'T4', 8, n, perfmodel.predict_train_time($ask, world_size => n) * 1.1 FROM unnest('{2,4}'::int[]) AS n RETURNING 1)
       SELECT count(*) = 2 FROM w},
    "$quiet SELECT n_profiles = 2 FROM perfmodel.fit_cluster('any', profiles => ARRAY(SELECT profile_id FROM perfmodel.profile WHERE world_size > 1))",
    "$quiet SELECT count(*) = 1 FROM perfmodel.recalibrate(profiles => ARRAY(SELECT profile_id FROM perfmodel.profile WHERE world_size > 1 OR gpu = 'T4'))");
is(as('engineer', q{SELECT trained_by FROM perfmodel.training_run WHERE predictor = 'mine'}), 'engineer', 'the run says who it was');
like(as('engineer', $_), qr/^permission denied/, "not: $_") for (
    q{INSERT INTO perfmodel.gpu (name) VALUES ('mine')}, q{UPDATE perfmodel.gpu SET fp32_tflops = 1}, q{UPDATE perfmodel.profile SET step_ms = 1},
    q{DELETE FROM perfmodel.profile}, q{DELETE FROM perfmodel.graph}, q{TRUNCATE perfmodel.predictor_weights}, q{UPDATE perfmodel.predictor SET name = 'x'},
    q{SELECT perfmodel.version(); SET perfmodel.train_mem = '1TB'}, q{CREATE TABLE perfmodel.mine ()});

# a schema that somebody else prepared: nothing of it may run as the superuser who creates the extension
foreach my $case (['owned', 'GRANT CREATE ON DATABASE trap TO joe', 'SET ROLE joe; CREATE SCHEMA perfmodel'],
                  ['granted', 'CREATE SCHEMA perfmodel; GRANT ALL ON SCHEMA perfmodel TO joe', 'SET ROLE joe'],
                  ['public', 'CREATE SCHEMA perfmodel; GRANT CREATE ON SCHEMA perfmodel TO public', 'SET ROLE joe'],
                  ['left', 'CREATE SCHEMA perfmodel; GRANT ALL ON SCHEMA perfmodel TO joe', 'SET ROLE joe', 'REVOKE ALL ON SCHEMA perfmodel FROM joe'])
{
    my ($name, $before, $as_joe, $after) = @$case;
    $node->safe_psql('postgres', 'CREATE DATABASE trap');
    $node->safe_psql('postgres', 'CREATE ROLE joe') if $name eq 'owned';
    $node->safe_psql('trap', "$before; $as_joe;" . q{
        CREATE FUNCTION perfmodel.evil(float8, numeric) RETURNS boolean LANGUAGE plpgsql AS
            $$BEGIN IF current_setting('is_superuser') = 'on' THEN ALTER ROLE joe SUPERUSER; END IF; RETURN true; END$$;
        CREATE OPERATOR perfmodel.>= (LEFTARG = float8, RIGHTARG = numeric, FUNCTION = perfmodel.evil);
        CREATE OPERATOR perfmodel.<= (LEFTARG = float8, RIGHTARG = numeric, FUNCTION = perfmodel.evil)}) unless $name eq 'public';
    $node->safe_psql('trap', "$before; CREATE TABLE perfmodel.t ()") if $name eq 'public';
    $node->safe_psql('trap', $after) if $after;
    my ($rc, $out, $err) = $node->psql('trap', 'CREATE EXTENSION perfmodel');
    like($err, qr/the schema perfmodel is not safe: role "(joe|public)"/, "a schema prepared by another role ($name) is refused");
    is($node->safe_psql('trap', q{SELECT rolsuper FROM pg_roles WHERE rolname = 'joe'}), 'f', 'and nothing of it has run');
    $node->safe_psql('postgres', 'DROP DATABASE trap');
}
$node->safe_psql('postgres', 'CREATE DATABASE trap');
is($node->safe_psql('trap', 'CREATE SCHEMA perfmodel; CREATE EXTENSION perfmodel; SELECT true'), 't', 'an empty schema of a superuser will do, as a dump makes it');
$node->stop;
done_testing();
