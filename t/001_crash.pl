# A training that is cancelled, terminated or hit by a crash leaves nothing
# behind, and what was there before is there to the last bit.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PerfmodelTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $endless = q{SELECT perfmodel.train('endless', options => '{"epochs":100000}')};

my $node = new_node('main');
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 2');
$node->start;
fill($node);
my $before = predictions($node);
my $rows_query = q{SELECT (SELECT count(*) FROM perfmodel.predictor), (SELECT count(*) FROM perfmodel.predictor_weights),
    (SELECT count(*) FROM perfmodel.training_run)};
my $rows = $node->safe_psql('postgres', $rows_query);

# Start the endless training; its process id once it has begun.
sub start_training
{
    my ($out, $err) = @_;
    my $h = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $endless ], '>', $out, '2>', $err);
    # progress shows in pg_stat_activity while the training is going on
    ok($node->poll_query_until('postgres',
            q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'perfmodel training "endless": calibration 1 of 6, epoch %'}),
        'progress shows in pg_stat_activity');
    return $h;
}

foreach my $how ('cancel', 'terminate')
{
    my ($out, $err) = ('', '');
    my $h = start_training(\$out, \$err);
    my $seconds = $node->safe_psql('postgres', qq{
        CREATE TEMP TABLE t AS SELECT pid, clock_timestamp() AS at FROM pg_stat_activity WHERE query LIKE 'perfmodel training%' AND pid <> pg_backend_pid();
        SELECT count(pg_${how}_backend(pid)) FROM t;
        DO 'BEGIN WHILE EXISTS (SELECT FROM t JOIN pg_stat_get_activity(NULL) a USING (pid) WHERE a.state = ''active'') LOOP
            PERFORM pg_sleep(0.02), pg_stat_clear_snapshot(); END LOOP; END';
        SELECT extract(epoch FROM clock_timestamp() - at) FROM t});
    $seconds =~ s/.*\n//s;
    $h->finish;
    cmp_ok($seconds, '<', 1.5, "$how stops a training soon");
    like($err, $how eq 'cancel' ? qr/canceling statement due to user request/ : qr/terminating connection due to administrator command/, "$how is what the client is told");
    like($err, qr/NOTICE: +training "endless": calibration 1 of 6, epoch 1 of 100000: loss [^,]+, rate [^,]+, [0-9.]+ s an epoch, .* left in all/,
        'a notice says how far it is');
    is($node->safe_psql('postgres', $rows_query), $rows, "no rows after $how");
}

# the time left is that of all folds; a statement says so at its first epoch and at the end, and now and then between
my (undef, undef, $notices) = $node->psql('postgres',
    q{SELECT count(*) FROM perfmodel.cross_validate(folds => 2, options => '{"epochs":900,"calibration_folds":0}')});
like($notices, qr/mdot by structure, fold 1 of 2: epoch 1 of 900: .*, (?!0 s)[0-9.]+ (s|min) left in all/, 'at the beginning there is time left');
like($notices, qr/mdot by structure, fold 2 of 2: epoch 900 of 900: (?!.*left)/, 'after the last there is none');
(undef, undef, $notices) = $node->psql('postgres', qq{SELECT count(*) FROM perfmodel.leaderboard('{ets,gnn,mdot}', '{structure,batch}', 3,
    options => '{"ets":{"epochs":20},"gnn":{"epochs":20},"mdot":{"epochs":20}}')});
my @notices = $notices =~ /NOTICE:.*/g;
my %cells = map { /NOTICE: +(\w+ by \w+), fold (\d) of \2: epoch 20 of 20:/ ? ($1 => 1) : () } @notices;
is(scalar(keys %cells), 6, 'a leaderboard says when each of its cross-validations is done');
cmp_ok(scalar(grep { !/fold (\d) of \1: epoch 20 of 20/ } @notices), '<', 20, 'and not much else');

# a graph of a prepared transaction is not there, whatever the session knew of it
my (undef, undef, $why) = $node->psql('postgres', q{
    BEGIN;
    SELECT perfmodel.load_graph(helper.cnn('prepared@16', 16, 2)) AS g \gset
    SELECT perfmodel.predict_train_time(:g, 'T4', 64, predictor => 'line');
    PREPARE TRANSACTION 'graph';
    SELECT perfmodel.predict_train_time(:g, 'T4', 64, predictor => 'line');}, on_error_stop => 1);
like($why, qr/graph with graph_id \d+ does not exist/, 'a session forgets what it prepared');
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'graph'});

my ($out, $err) = ('', '');
my $h = start_training(\$out, \$err);
$node->stop('immediate');
$h->finish;
$node->start;
is($node->safe_psql('postgres', $rows_query), $rows, 'no rows after a crash');
is(predictions($node), $before, 'same predictions after a crash');
is($node->safe_psql('postgres', qq{SET client_min_messages = warning; SELECT perfmodel.train('endless', options => '$small') > 0}),
    't', 'the name can be used');
$node->stop;
done_testing();
