# Trainings while rows are locked, memory runs out and the postmaster is gone.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PerfmodelTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = new_node('main');
$node->append_conf('postgresql.conf', "restart_after_crash = off\n");
$node->start;
fill($node);

sub start
{
    my ($name) = @_;
    my $run = $node->safe_psql('postgres', qq{SELECT perfmodel.train_async('$name', options => '{"epochs":100000,"d_model":16,"heads":2,"layers":1}')});
    ok($node->poll_query_until('postgres', "SELECT epoch > 0 FROM perfmodel.training_status WHERE run_id = $run"), "$name is training");
    return $run;
}

my $worker = q{FROM pg_stat_activity WHERE backend_type = 'perfmodel training'};
sub worker_pid { return $node->safe_psql('postgres', "SELECT pid $worker"); }

# Whether the process is gone, in half a minute.
sub gone
{
    my ($pid) = @_;
    for (1 .. 1500) { return 1 unless kill(0, $pid); usleep(20_000); }
    return 0;
}

# somebody keeps the row locked: the training goes on, and can be cancelled
my $run = start('locked');
my $locker = $node->background_psql('postgres');
$locker->query_safe("BEGIN; SELECT 1 FROM perfmodel.training_run WHERE run_id = $run FOR UPDATE");
my $epoch = q{SELECT COALESCE(max(substring(query FROM 'epoch (\d+) of')::int), 0)} . " $worker";
my $before = $node->safe_psql('postgres', $epoch);
ok($node->poll_query_until('postgres', "SELECT ($epoch) > $before + 3"), 'a training whose row is locked goes on');
is($node->safe_psql('postgres', "SELECT perfmodel.cancel_training($run)"), 't', 'it can be cancelled');
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 $worker"), 'and ends, although it cannot write that down');
is($node->safe_psql('postgres', "SELECT status FROM perfmodel.training_status WHERE run_id = $run"), 'failed', 'the run has lost its worker');
$locker->query_safe('COMMIT');

# the same of the whole table, and when it is free again the row says how it ended
$run = start('table');
$locker->query_safe('BEGIN; LOCK TABLE perfmodel.training_run IN SHARE MODE');
$before = $node->safe_psql('postgres', $epoch);
ok($node->poll_query_until('postgres', "SELECT ($epoch) > $before + 3"), 'a training whose table is locked goes on');
$locker->query_safe('COMMIT');
$node->safe_psql('postgres', "SELECT perfmodel.cancel_training($run)");
ok($node->poll_query_until('postgres', "SELECT status = 'cancelled' FROM perfmodel.training_status WHERE run_id = $run"), 'cancelled after the lock');
$locker->quit;

# a limit that the administrator has given a role holds for its trainings, too
$node->safe_psql('postgres', q{
    CREATE ROLE limited LOGIN;
    GRANT SELECT ON ALL TABLES IN SCHEMA perfmodel TO limited;
    GRANT INSERT ON perfmodel.predictor, perfmodel.predictor_weights, perfmodel.training_run TO limited;
    GRANT UPDATE ON perfmodel.training_run TO limited;
    GRANT EXECUTE ON FUNCTION perfmodel.train_async TO limited;
    ALTER ROLE limited SET statement_timeout = '3s'});
$run = $node->safe_psql('postgres', q{SELECT perfmodel.train_async('limited', options => '{"epochs":100000}')}, extra_params => [ '-U', 'limited' ]);
ok($node->poll_query_until('postgres', "SELECT status = 'cancelled' FROM perfmodel.training_status WHERE run_id = $run"), 'a training ends at the time limit of its role');
like($node->safe_psql('postgres', "SELECT message FROM perfmodel.training_status WHERE run_id = $run"), qr/statement timeout/, 'and says so');

# No memory: a session that may take a few bytes more than it has.  Wherever the
# allocation fails (in the core, in what it calls, while an error is made), the
# statement ends with "out of memory" or succeeds, and the session lives.
SKIP:
{
    skip 'prlimit is not there', 4 if system('command -v prlimit >/dev/null') != 0;
    my ($refused, $other) = (0, '');
    foreach my $warm (0, 1)
    {
        my $session = $node->background_psql('postgres', on_error_stop => 0);
        my $pid = $session->query_safe('SELECT pg_backend_pid()');
        # the library is loaded before memory is short; the second session has trained before, too
        $session->query_safe(q{SELECT perfmodel.version(); SET perfmodel.train_threads = 2; SET jit = off; SET client_min_messages = error});
        $session->query_safe("SELECT perfmodel.train('warm', options => '$small')") if $warm;
        for my $more (map { $_ * $_ * 8 } 0 .. 25)
        {
            my ($kb) = slurp_file("/proc/$pid/status") =~ /^VmSize:\s+(\d+) kB/m;
            system('prlimit', "--pid=$pid", '--as=' . ($kb + $more) * 1024 . ':unlimited');
            $session->query(qq{SELECT perfmodel.train('m$warm.$more', options => '$small'), perfmodel.predict(graph_id, 'T4', 4) FROM perfmodel.graph LIMIT 1});
            my $said = $session->{stderr};
            $session->{stderr} = '';
            system('prlimit', "--pid=$pid", '--as=unlimited:unlimited');
            my ($error) = $said =~ /^.*ERROR:\s*(.*)$/m;
            next unless defined $error;
            $refused++;
            $other .= "$error\n" unless $error =~ /out of memory/;
        }
        is($session->query('SELECT 1'), '1', 'the session lives');
        $session->quit;
    }
    cmp_ok($refused, '>', 5, 'memory ran out');
    is($other, '', 'and nothing else went wrong');
}

# the postmaster is killed: trainings in the background and in a session end, so that the server can start again
start('orphan');
my $background = worker_pid();
my $foreground = $node->background_psql('postgres', on_error_stop => 0);
my $session_pid = $foreground->query_safe('SELECT pg_backend_pid()');
$foreground->query_until(qr/training/, "\\echo training\nSELECT perfmodel.train('endless', options => '{\"epochs\":100000}');\n");
ok($node->poll_query_until('postgres', "SELECT query LIKE '%epoch%' FROM pg_stat_activity WHERE pid = $session_pid"), 'a training in a session');
$node->kill9;
ok(gone($background), 'a background training ends when the postmaster is killed');
ok(gone($session_pid), 'so does one in a session');
$node->start;
is($node->safe_psql('postgres', q{SELECT count(*) FROM perfmodel.predictor WHERE name IN ('orphan', 'endless')}), '0', 'nothing of them is stored');
$node->stop;
done_testing();
