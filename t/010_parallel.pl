# Parallel queries: workers take over what their leader knows, everybody gets
# the same bits, and nobody gets what belongs to another snapshot or user.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PerfmodelTest;
use Test::More;

my $node = new_node('main');
$node->start;
fill($node);
$node->safe_psql('postgres', q{
    CREATE TABLE job AS SELECT graph_id, gpu, 1 + (i % 40) * (i % 40) AS batch
        FROM (SELECT DISTINCT graph_id FROM perfmodel.profile) g, (VALUES ('T4'), ('RTX 3090')) d(gpu), generate_series(1, 4000) i;
    ALTER TABLE job SET (parallel_workers = 2);
    ANALYZE job;
    CREATE FUNCTION reads() RETURNS bigint LANGUAGE sql AS $$
        SELECT sum(seq_scan + coalesce(idx_scan, 0)) FROM pg_stat_all_tables WHERE schemaname = 'perfmodel' AND relname IN ('graph', 'graph_node') $$});
my $parallel = q{SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;};
my $serial = 'SET max_parallel_workers_per_gather = 0;';
# OFFSET 0: the predictions are made below Gather, not where they are put together
my $answers = q{SELECT md5(string_agg(step_ms::text, '' ORDER BY graph_id, gpu, batch)) FROM (SELECT graph_id, gpu, batch,
    encode(float8send(perfmodel.predict_train_time(graph_id, gpu, batch)), 'hex') AS step_ms FROM job OFFSET 0) AS j};
my $judged = q{SELECT md5(string_agg(p::text, '' ORDER BY graph_id, gpu, batch)) FROM (SELECT graph_id, gpu, batch,
    perfmodel.predict(graph_id, gpu, batch, predictor => 'line') AS p FROM job OFFSET 0) AS j};
my $plan = "EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF) $answers";

# What a session prints, line by line.
sub session
{
    return split /\n/, $node->safe_psql('postgres', join('; ', @_));
}

my ($alone, $alone_judged) = session($serial, $answers, $judged);
is_deeply([ session($parallel, $answers, $answers, $judged, $judged, $answers) ],
    [ $alone, $alone, $alone_judged, $alone_judged, $alone ], 'the same bits from parallel workers, intervals and notes too');
like(join("\n", session($parallel, $plan)), qr/Workers Launched: 2.*Parallel Seq Scan on public.job.*Output: [^\n]*predict_train_time/s, 'who have really worked');

# what the session knows when workers start, they do not look up
my $warm = $node->background_psql('postgres', on_error_stop => 1);
$warm->query($_) for ($serial, $answers, $parallel);
my $before = $node->safe_psql('postgres', 'SELECT reads()');
like($warm->query($plan), qr/Workers Launched: 2/, 'workers of a session that knows the answers');
is($warm->query($answers), $alone, 'have the same');
$warm->quit;
# which has now told what it read itself: a cold and three warm queries
my $after = $node->safe_psql('postgres', 'SELECT reads()');
my $cold = $node->safe_psql('postgres', "$serial $answers; SELECT pg_stat_force_next_flush(); SELECT 'x'") && $node->safe_psql('postgres', 'SELECT reads()') - $after;
cmp_ok($cold, '>', 0, 'a session that begins reads the graphs');
# four workers; one that is quicker than its leader looks up a few, and all that each needs if it is told nothing
cmp_ok($after - $before, '<', 4 * $cold, 'its workers did not');

# another snapshot: a change in the transaction, a change of somebody else
my $changed = (session("$serial SELECT perfmodel.activate_predictor('line')", $answers))[-1];
isnt($changed, $alone, 'another predictor has other answers');
is_deeply([ grep { /^[0-9a-f]{32}$/ } session($parallel, 'BEGIN', $answers, q{SELECT perfmodel.activate_predictor('small')}, $answers, 'ROLLBACK', $answers) ],
    [ $changed, $alone, $changed ], 'workers see what the transaction has changed, and that it was undone');
# to a savepoint, too, whatever else goes on: what was shared between two of them stood on what was undone
is_deeply([ grep { /^[0-9a-f]{32}$/ } session($parallel, 'CREATE TEMP TABLE t (i int)', 'BEGIN', 'SAVEPOINT a', q{SELECT perfmodel.activate_predictor('small')},
        'SAVEPOINT b', 'INSERT INTO t VALUES (1)', 'ROLLBACK TO b', $answers, 'ROLLBACK TO a', $answers, 'COMMIT') ],
    [ $alone, $changed ], 'nor what was undone to a savepoint');
my $open = $node->background_psql('postgres', on_error_stop => 1);
$open->query($parallel);
is($open->query($answers), $changed, 'a session with workers');
$node->safe_psql('postgres', q{SELECT perfmodel.activate_predictor('small')});
is($open->query($answers), $alone, 'and its next query, after a change elsewhere');
$open->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
is($open->query($answers), $alone, 'a transaction that keeps its snapshot');
$node->safe_psql('postgres', q{SELECT perfmodel.activate_predictor('line')});
is($open->query($answers), $alone, 'has the answers of its snapshot');
$open->query('COMMIT');
is($open->query($answers), $changed, 'as long as it lasts');
$open->quit;

# another user: what one may see is not handed to a function of one who may not
$node->safe_psql('postgres', q{
    CREATE ROLE nobody;
    GRANT USAGE, CREATE ON SCHEMA public TO nobody;
    SET ROLE nobody;
    CREATE FUNCTION stolen(bigint, text, integer) RETURNS float8 LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
        AS 'SELECT perfmodel.predict_train_time($1, $2, $3)'});
my ($rc, $out, $err) = $node->psql('postgres', "$parallel $answers;
    SELECT count(perfmodel.predict_train_time(graph_id, gpu, batch) + stolen(graph_id, gpu, batch)) FROM job");
isnt($rc, 0, 'another user in the same query');
like($err, qr/permission denied/, 'has his own rights');
is((session($parallel, $answers))[0], $changed, 'and an error leaves nothing behind');

# more at once than there is room for
my @many = map { $node->background_psql('postgres', on_error_stop => 1) } 1 .. 3;
$_->query($parallel) for @many;
is(join(' ', map { scalar $_->query($answers) } @many, @many), join(' ', ($changed) x 6), 'several leaders');
$_->quit for @many;
$node->stop;
done_testing();
