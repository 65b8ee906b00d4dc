# A hot standby predicts the same bits, hears of changes, and refuses to train.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PerfmodelTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_node('primary', allows_streaming => 1);
$primary->start;
fill($primary);
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

sub catch_up { $primary->wait_for_catchup($standby); }

$primary->safe_psql('postgres', q{CREATE TABLE helper.jobs AS SELECT 'a' AS job_id, 'anet4@16' AS graph, 'T4' AS gpu, 1 AS gpu_count, 8 AS batch, 1000 AS steps,
    timestamptz '2026-01-01' AS submitted_at, timestamptz '2100-01-01' AS deadline});
catch_up();
is(predictions($standby), predictions($primary), 'same predictions on the standby');

# functions that write say that they cannot, the others work; of those that are not volatile, or not of C, the server itself knows
my $g = q{perfmodel.graph_id('anet4@16')};
my ($hex) = slurp_file("$FindBin::RealBin/../sql/onnx.sql") =~ /^\\set cnn '?([0-9a-f]+)/m or die 'no model';
my $onnx = "decode('$hex', 'hex')";
my $queue = q{job_ids => '{a}', gpus => '{T4}', gpu_counts => '{1}', durations_p50_s => '{60}'};
my %writes = (
    train => q{'x', 'linear'}, train_async => q{'x', 'linear'}, cancel_training => 1, recalibrate => q{'line', '{1,2,3,4,5,6,7,8}'}, load_onnx => "'x', $onnx", load_graph => q{helper.cnn('x', 8, 2)},
    activate_predictor => q{'line'}, drop_predictor => q{'line'}, calibrate_memory => 'perfmodel.all_profiles()', fit_cluster => q{'dgx-a100'});
my %reads = (
    predict_train_time => "$g, 'T4', 8", predict => "$g, 'T4', 8", explain_train_time => "$g, 'T4', 8", evaluate => q{'line'},
    cross_validate => q{'linear', folds => 2}, leaderboard => q{'{linear}', '{structure}', 2}, estimate_training => q{'linear'},
    operator_name => q{'{"format": "perfmodel-graph/1", "name": "relu", "input": [1, 8], "nodes": [
        {"id": 0, "op": "Input", "inputs": [], "shape": [1, 8], "batch_dim": 0}, {"id": 1, "op": "Relu", "inputs": [0], "shape": [1, 8], "batch_dim": 0}]}'},
    predict_many => "ARRAY[$g], '{T4}', '{8}'", what_if => "$g, '{T4}', '{8}'", onnx_to_graph => $onnx, corrections => q{'line'}, training_lost => 1,
    ask => q{'{"graph": "anet4@16", "gpu": "T4", "batch": 8}'}, ask_many => q{ARRAY['{"graph": "anet4@16", "gpu": "T4", "batch": 8}'::jsonb]},
    all_profiles => '', family_of => q{'resnet50'}, find_graph => q{'anet4@16'}, find_gpu => q{'T4'}, find_dtype => q{'half'}, find_layout => q{'channels_last'},
    collective_ms => q{'all_reduce', 1e9, 8}, scaling_curve => "$g, 'T4', 8", best_parallel => "$g, 'T4', 64, 8", predict_job => "$g, 'T4', 8, steps => 10",
    predict_memory => "$g, 'T4', 8", explain_memory => "$g, 'T4', 8", memory_timeline => "$g, 'T4', 8", max_batch => "$g, 'T4'", what_would_fit => "$g, 'T4', 8",
    forecast_jobs => q{'helper.jobs'}, queue_order => q{'helper.jobs'}, queue_eta => q{'helper.jobs', free => '{"T4": 1}'}, deadline_probability => q{'helper.jobs', free => '{"T4": 1}'},
    queue_order_arrays => $queue, queue_eta_arrays => qq{free => '{"T4": 1}', $queue},
    deadline_probability_arrays => qq{free => '{"T4": 1}', deadlines => '{"2100-01-01"}', $queue}, what_if_jobs => q{'helper.jobs', gpus => '{T4}'},
    fill_windows => q{'helper.jobs', windows => '{"[2026-01-01 12:00+00, 2026-01-01 13:00+00)"}', gpus => '{T4}'}, resolve_job_names => q{'helper.jobs'},
    drift => q{'line'}, residuals => q{'line'}, drift_evidence => q{'{1,2}', '{0.1,0.2}', '{0.2,0.3}'}, proportion_bounds => '9, 10, 0.9', require => "true, 'm', 'h'",
    find_optimizer => q{'AdamW'}, graph_id => q{'anet4@16'}, gpu_name => q{'rtx_3090'}, kinds => '', memory_kinds => '', blas_info => '', may_commit => '', version => '');
foreach my $function (split(/\n/, $primary->safe_psql('postgres', q{SELECT DISTINCT proname FROM pg_proc
        WHERE pronamespace = 'perfmodel'::regnamespace AND prorettype <> 'trigger'::regtype AND (provolatile = 'v' AND prolang = (SELECT oid FROM pg_language WHERE lanname = 'c') OR proname IN (} . join(', ', map { "'$_'" } keys %reads) . q{)) ORDER BY 1})))
{
    my $arguments = $writes{$function} // $reads{$function};
    my ($rc, $out, $err) = $standby->psql('postgres', "SELECT count(*) > 0 FROM perfmodel.$function($arguments)") if defined $arguments;
    if (!defined $arguments) { fail("$function works or says that it cannot write: add it to %reads or %writes"); }
    elsif ($writes{$function}) { like($err, qr/cannot execute .* in a read-only transaction|cannot cancel a training from a standby/, "$function says that it cannot write"); }
    else { is($out, $function =~ /^(corrections|residuals)$/ ? 'f' : 't', "$function works") or diag($err); }
}
my ($rc, $out, $err) = $standby->psql('postgres', q{SELECT perfmodel.train('x', 'linear')});
isnt($rc, 0, 'training fails on a standby');
like($err, qr/cannot execute perfmodel\.train\(\) in a read-only transaction/, 'and says why');
is($standby->safe_psql('postgres', always_parallel($standby) . q{
    SELECT count(perfmodel.predict_train_time(graph_id, gpu, batch)) = count(*) FROM perfmodel.profile}), 't', 'parallel workers of a standby predict');

my $trust = q{SELECT p.* FROM perfmodel.profile, perfmodel.predict(graph_id, gpu, batch, predictor => 'line') p ORDER BY profile_id};
is($standby->safe_psql('postgres', $trust), $primary->safe_psql('postgres', $trust), 'predicting with intervals gives the same');
isnt($standby->safe_psql('postgres', $trust), '', 'and it gives something');

# one session of the standby sees what the primary does
my $session = $standby->background_psql('postgres');
my $ask = q{SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8)};
my %expected = map { $_ => $primary->safe_psql('postgres',
        qq{SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4\@16'), 'T4', 8, predictor => '$_')}) } ('small', 'line');
is($session->query_safe($ask), $expected{small}, 'a session of the standby predicts');
$primary->safe_psql('postgres', q{SELECT perfmodel.activate_predictor('line')});
catch_up();
is($session->query_safe($ask), $expected{line}, 'and hears that another predictor is active');
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
$session->query_safe('SELECT 1 FROM perfmodel.gpu LIMIT 1');
$primary->safe_psql('postgres', q{SELECT perfmodel.activate_predictor('small')});
catch_up();
is($session->query_safe($ask), $expected{line}, 'but not within an older snapshot');
$session->query_safe('COMMIT');
is($session->query_safe($ask), $expected{small}, 'and right after it');
$session->quit;

# load, train, drop on the primary
$primary->safe_psql('postgres', qq{SET client_min_messages = warning;
    SELECT perfmodel.load_graph(helper.cnn('new', 16, 3));
    SELECT perfmodel.train('new', options => '$small');
    SELECT perfmodel.drop_predictor('line')});
catch_up();
is(predictions($standby), predictions($primary), 'same predictions after changes');
like($standby->safe_psql('postgres', q{SELECT helper.error_of($$SELECT perfmodel.predict_train_time(1, 'T4', 8, predictor => 'line')$$)}),
    qr/^42704/, 'a dropped predictor is gone');
$standby->stop;
$primary->stop;
done_testing();
