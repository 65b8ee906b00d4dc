# A partitioned job history on three servers: each predicts its own part, at
# the same time as the others, and the answers are those of one server. The
# statements stand in docs/scale-out.md.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PerfmodelTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# the servers with jobs are copies of the one that asks, so that all have the same predictors
my $front = new_node('front', allows_streaming => 1);
$front->append_conf('postgresql.conf', "track_functions = 'all'\n");
$front->start;
fill($front);
$front->backup('backup');
my @jobs = map { PostgreSQL::Test::Cluster->new("jobs$_") } 1 .. 3;
foreach my $node (@jobs)
{
    $node->init_from_backup($front, 'backup');
    $node->start;
    $node->safe_psql('postgres', $_) for doc_sql('docs/scale-out.md', 'On each server with jobs');
}
my $setup = join('', doc_sql('docs/scale-out.md', 'On the server that asks'));
foreach my $node (@jobs)
{
    my ($name, $host, $port) = ($node->name, $node->host, $node->port);
    $setup =~ s/host '$name', port '5432', dbname 'mydb'/host '$host', port '$port', dbname 'postgres'/ or die "no server $name";
}
$front->safe_psql('postgres', $setup);

# the same 3,000 jobs in one table of the front and in the parts
my $history = q{
    SELECT i AS job_id, (ARRAY['vision','audio','language','speech','robots'])[1 + i % 5] AS team, graph_id, gpu, batch, i % 7 + 0.5::float8 AS gpu_hours
    FROM generate_series(1, 3000) AS i JOIN (SELECT DISTINCT ON (graph_id) dense_rank() OVER (ORDER BY graph_id) AS nth, graph_id, gpu, batch
        FROM perfmodel.profile ORDER BY graph_id, profile_id) AS p ON nth = 1 + i % 24};
my %part = (jobs1 => q{team IN ('vision', 'audio')}, jobs2 => q{team = 'language'}, jobs3 => q{team IN ('speech', 'robots')});
$_->safe_psql('postgres', "INSERT INTO job_part SELECT * FROM ($history) AS j WHERE " . $part{$_->name}) for @jobs;
$front->safe_psql('postgres', "CREATE TABLE job_here AS $history; SELECT pg_stat_reset()");
$_->safe_psql('postgres', 'SELECT pg_stat_reset()') for @jobs;

my ($report) = doc_sql('docs/scale-out.md', 'The report');
my ($settings, $query) = $report =~ /^(.*?;)\n(SELECT.*?);\n\z/s or die 'no report';
my $plan = $front->safe_psql('postgres', "$settings EXPLAIN (VERBOSE, COSTS OFF) $query");
is(() = $plan =~ /Async Foreign Scan/g, 3, 'three servers work at the same time') or diag($plan);
is(() = $plan =~ /Remote SQL: SELECT team, count\(\*\), sum\(gpu_hours\), sum\(/g, 3, 'each sums its own part');
unlike($plan, qr/predict_train_time/, 'the server that asks predicts nothing');

my $answer = $front->safe_psql('postgres', "$settings $query");
my $here = $query =~ s/job_forecast/(SELECT *, perfmodel.predict_train_time(graph_id, gpu, batch) AS step_ms,
    perfmodel.predict_train_time(graph_id, 'RTX 3090', batch) AS step_ms_rtx3090 FROM job_here) AS h/r;
my $rows = q{SELECT count(*), md5(string_agg(concat_ws('/', job_id, team, float8send(step_ms), float8send(step_ms_rtx3090)), ',' ORDER BY job_id)) FROM };
my $bits = $front->safe_psql('postgres', "$rows job_forecast");

# what each server did, from its own statistics, before the front predicts for comparison
my $calls = q{SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname = 'predict_train_time'};
is($front->safe_psql('postgres', $calls), '0', 'the server that asks has predicted nothing');
foreach my $node (@jobs)
{
    my $n = $node->safe_psql('postgres', 'SELECT count(*) FROM job_part');
    # the report and the comparison of bits: twice two predictions a row
    ok($node->poll_query_until('postgres', "SELECT ($calls) = 4 * $n"), $node->name . " has predicted its $n jobs")
        or diag($node->safe_psql('postgres', $calls));
}

is($answer, $front->safe_psql('postgres', $here), 'the answers of one server');
is($bits, $front->safe_psql('postgres', "$rows (SELECT *, perfmodel.predict_train_time(graph_id, gpu, batch) AS step_ms,
    perfmodel.predict_train_time(graph_id, 'RTX 3090', batch) AS step_ms_rtx3090 FROM job_here) AS h"), 'the same bits for every job');
like($bits, qr/^3000\|/, 'all jobs are there');
my ($rc, $out, $err) = $front->psql('postgres', "SELECT step_ms FROM job_forecast WHERE job_id = -1");
is($rc, 0, 'no rows are no error');
$jobs[1]->safe_psql('postgres', q{INSERT INTO job_part VALUES (0, 'language', 999999, 'T4', 8, 1)});
($rc, $out, $err) = $front->psql('postgres', $query);
isnt($rc, 0, 'a part that cannot be predicted is an error');
like($err, qr/graph with graph_id 999999 does not exist/, 'that says why');

$_->stop for (@jobs, $front);
done_testing();
