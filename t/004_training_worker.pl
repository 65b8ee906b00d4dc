# Trainings in the background: workers that are lost, that cannot be had, and
# that stand in the way of nobody.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PerfmodelTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', allows_streaming => 1);
# one is taken by logical replication
$node->append_conf('postgresql.conf', "max_worker_processes = 3\n");
$node->append_conf('postgresql.conf', "restart_after_crash = on\n");
$node->start;
fill($node);
my $before = predictions($node);

sub start
{
    my ($name, $database) = @_;
    return $node->safe_psql($database // 'postgres', qq{SELECT perfmodel.train_async('$name', options => '{"epochs":100000}')});
}

sub await
{
    my ($run, $condition, $what, $database) = @_;
    ok($node->poll_query_until($database // 'postgres', "SELECT count(*) = 1 FROM perfmodel.training_status WHERE run_id = $run AND $condition"), $what);
}

sub status { my ($run) = @_; return $node->safe_psql('postgres', "SELECT status FROM perfmodel.training_status WHERE run_id = $run"); }

sub worker_pid
{
    my ($name) = @_;
    return $node->safe_psql('postgres', qq{SELECT pid FROM pg_stat_activity WHERE backend_type = 'perfmodel training' AND query LIKE '%"$name"%'});
}

# A psql that finds no server may be gone before it is given its query, which IPC::Run dies of.
sub is_back
{
    for (1 .. 50)
    {
        return 1 if eval { $node->poll_query_until('postgres', 'SELECT true') };
    }
    return 0;
}

# as many as max_worker_processes allows, and then an error that names it
my $first = start('first');
my $second = start('second');
my ($rc, $out, $err) = $node->psql('postgres', q{SELECT perfmodel.train_async('third', 'linear')});
isnt($rc, 0, 'no third worker');
like($err, qr/no background worker is free.*max_worker_processes is 3.*raise max_worker_processes.*perfmodel\.train/s, 'the error names the setting');
is($node->safe_psql('postgres', q{SELECT count(*) FROM perfmodel.training_run WHERE predictor = 'third'}), '0', 'and there is no run');
await($_, 'epoch > 0', "run $_ makes progress") foreach ($first, $second);

# to be cancelled, from another session, soon
my $seconds = $node->safe_psql('postgres', qq{
    CREATE TEMP TABLE t AS SELECT clock_timestamp() AS at;
    SELECT perfmodel.cancel_training($second);
    DO 'BEGIN WHILE EXISTS (SELECT FROM perfmodel.training_status WHERE run_id = $second AND status = ''running'') LOOP PERFORM pg_sleep(0.005); END LOOP; END';
    SELECT extract(epoch FROM clock_timestamp() - at) FROM t});
$seconds =~ s/.*\n//s;
cmp_ok($seconds, '<', 1.5, 'cancelled soon');
is(status($second), 'cancelled', 'cancelled');

# a training leaves no snapshot and no lock behind that others wait for
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'perfmodel training' AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)}),
    '0', 'no snapshot is held while training');
is($node->safe_psql('postgres', q{SELECT string_agg(DISTINCT locktype, ' ') FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE backend_type = 'perfmodel training' AND locktype <> 'virtualxid'}), 'advisory', 'and no lock but its own');

# terminated
my $pid = worker_pid('first');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 5000)");
is(status($first), 'failed', 'a terminated worker is a failed training');
like($node->safe_psql('postgres', "SELECT message FROM perfmodel.training_status WHERE run_id = $first"), qr/background worker is gone/, 'and it says so');
is($node->safe_psql('postgres', "SELECT status FROM perfmodel.training_run WHERE run_id = $first"), 'running', 'nobody has written it down yet');

# killed: the server goes through recovery
my $killed = start('killed');
await($killed, 'epoch > 0', 'a training to be killed');
kill('KILL', worker_pid('killed'));
ok(is_back(), 'the server is back');
is(status($killed), 'failed', 'a killed worker is a failed training');

# a crash, and a restart, of the whole server
foreach my $how ('immediate', 'fast')
{
    my $run = start("stop $how");
    await($run, 'epoch > 0', "a training before stop $how");
    $node->stop($how);
    $node->start;
    is(status($run), 'failed', "failed after stop $how");
    is($node->safe_psql('postgres', "SELECT count(*) FROM perfmodel.predictor WHERE name LIKE 'stop%' OR name = 'killed'"), '0', 'nothing is stored');
}
is(predictions($node), $before, 'predictors that were there are as before');
# the next training writes it down, and has the name
my $again = $node->safe_psql('postgres', q{SELECT perfmodel.train_async('killed', 'linear')});
await($again, "status = 'finished'", 'the name can be used');
is($node->safe_psql('postgres', q{SELECT count(*) FROM perfmodel.training_run WHERE status = 'running'}), '0', 'lost runs are written down as failed');
is($node->safe_psql('postgres', "SELECT status, error_code FROM perfmodel.training_run WHERE run_id = $killed"), 'failed|57P02', 'with a code');

# roles: one that cannot connect, one that is not there any more
$node->safe_psql('postgres', q{
    CREATE ROLE trainer LOGIN;
    GRANT SELECT ON ALL TABLES IN SCHEMA perfmodel TO trainer;
    GRANT INSERT ON perfmodel.predictor, perfmodel.predictor_weights, perfmodel.training_run TO trainer;
    GRANT UPDATE ON perfmodel.training_run TO trainer;
    GRANT EXECUTE ON FUNCTION perfmodel.train_async, perfmodel.cancel_training TO trainer});
my $role = $node->safe_psql('postgres', q{SELECT perfmodel.train_async('of trainer', 'linear')}, extra_params => [ '-U', 'trainer' ]);
await($role, "status = 'finished' AND trained_by = 'trainer'", 'a training of a role');
my $session = $node->background_psql('postgres', extra_params => [ '-U', 'trainer' ], on_error_stop => 0);
$session->query_safe('SELECT 1');
$node->safe_psql('postgres', q{REVOKE CONNECT ON DATABASE postgres FROM PUBLIC});
$session->query(q{SELECT perfmodel.train_async('x', 'linear')});
like($session->{stderr}, qr/background worker for the training could not start.*server log/s, 'a role that may not connect any more');
$session->quit;
$node->safe_psql('postgres', q{GRANT CONNECT ON DATABASE postgres TO PUBLIC});
is($node->safe_psql('postgres', q{SELECT count(*) FROM perfmodel.training_run WHERE predictor = 'x'}), '0', 'leaves no run');

# a standby shows what the primary does
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
my $long = start('long');
await($long, 'epoch > 0', 'a training while there is a standby');
# progress is committed asynchronously, so that catching up with what is written does not show it yet
ok($standby->poll_query_until('postgres', "SELECT (status, perfmodel.training_lost(run_id) IS NULL, epoch > 0) = ('running on the primary', true, true)
    FROM perfmodel.training_status WHERE run_id = $long"), 'the standby says where it runs');
is($standby->safe_psql('postgres', "SELECT status FROM perfmodel.training_status WHERE run_id = $again"), 'finished', 'and what is finished');
foreach my $call (q{train_async('y', 'linear')}, "cancel_training($long)")
{
    ($rc, $out, $err) = $standby->psql('postgres', "SELECT perfmodel.$call");
    like($err, $call =~ /^train/ ? qr/cannot execute perfmodel\.train_async\(\) in a read-only transaction/ : qr/from a standby.*on the primary/s, "$call on a standby");
}
$standby->stop;

# DROP EXTENSION does not wait, and ends the training
$node->safe_psql('postgres', q{SET lock_timeout = '5s'; SET client_min_messages = warning; DROP EXTENSION perfmodel CASCADE; CREATE EXTENSION perfmodel});
ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'perfmodel training'}),
    'a training whose extension is dropped ends');
is($node->safe_psql('postgres', q{SELECT count(*) FROM perfmodel.predictor}), '0', 'and stores nothing');

# so does DROP DATABASE (FORCE)
$node->safe_psql('postgres', q{CREATE DATABASE other});
$node->safe_psql('postgres', q{DROP SCHEMA helper CASCADE});
$node->safe_psql('other', slurp_file("$FindBin::RealBin/../sql/setup.sql"));
$node->safe_psql('other', q{SET client_min_messages = warning; SELECT helper.load_world()});
my $other = start('other', 'other');
await($other, 'epoch > 0', 'a training in another database', 'other');
($rc, $out, $err) = $node->psql('postgres', 'DROP DATABASE other');
like($err, qr/is being accessed by other users/, 'a training is a user of its database');
$node->safe_psql('postgres', 'DROP DATABASE other WITH (FORCE)');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_database WHERE datname = 'other'}), '0', 'unless forced');
$node->stop;
done_testing();
