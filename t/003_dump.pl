# pg_dump | psql is all it takes to move: the same rows, sequences that go on,
# own devices, and predictions equal to the last bit.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PerfmodelTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $old = new_node('old');
$old->start;
fill($old);
$old->safe_psql('postgres', q{
    CREATE ROLE dashboard;
    GRANT SELECT ON perfmodel.graph, perfmodel.predictor, perfmodel.predictor_weights TO dashboard;
    INSERT INTO perfmodel.gpu (name, mem_bw_gbs, sm_count, cores_per_sm, fp32_tflops, aliases) VALUES ('Own Chip', 500, 32, 64, 6, '{oc}');
    INSERT INTO perfmodel.interconnect (name, kind, busbw_gbs) VALUES ('zz own link', 'pcie', 20);
    INSERT INTO perfmodel.cluster (name, gpu, gpus_per_node, intra, inter) VALUES ('a own cluster', 'oc', 4, 'zz own link', 'ethernet-100g');
    INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms) SELECT graph_id, 'oc', 8, 5 FROM perfmodel.graph WHERE name = 'anet4@16';
    INSERT INTO perfmodel.op_profile (operator, gpu, batch, forward_ms) VALUES ('{"format":"perfmodel-graph/1","nodes":[
        {"id":0,"op":"Input","inputs":[],"shape":[1,8],"batch_dim":0}, {"id":1,"op":"Relu","inputs":[0],"shape":[1,8],"batch_dim":0}]}', 'oc', 8, 1)});

# docs/roles.md says that these are not in a dump, and to run a script like this one again
my $policies = q{
    ALTER TABLE perfmodel.graph ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own_networks ON perfmodel.graph USING (name = 'anet4@16');
    CREATE TRIGGER no_trigger BEFORE DELETE ON perfmodel.graph FOR EACH ROW WHEN (false) EXECUTE FUNCTION suppress_redundant_updates_trigger();
    CREATE INDEX own_index ON perfmodel.graph (loaded_at)};
$old->safe_psql('postgres', $policies);

my $new = new_node('new');
$new->start;
my $dump = $old->data_dir . '/../dump.sql';
$old->command_ok([ 'pg_dumpall', '-f', $dump, '-d', $old->connstr('postgres') ], 'dump');
my ($out, $err) = run_command([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=0', '-d', $new->connstr('postgres'), '-f', $dump ]);
# the role that runs the test is there already
my @errors = grep { /ERROR/ && !/role ".*" already exists/ } split(/\n/, $err);
is(join("\n", @errors), '', 'restore without errors');

is(predictions($new), predictions($old), 'same predictions');
# one database alone, as text and as an archive
$old->command_ok([ 'pg_dump', '-f', "$dump.one", '-d', $old->connstr('postgres') ], 'dump of a database');
$old->command_ok([ 'pg_dump', '-Fc', '-f', "$dump.archive", '-d', $old->connstr('postgres') ], 'the same as an archive');
$new->safe_psql('postgres', $_) for ('CREATE DATABASE one', 'CREATE DATABASE archive');
$new->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $new->connstr('one'), '-f', "$dump.one" ], 'restore by psql');
$new->command_ok([ 'pg_restore', '-e', '-d', $new->connstr('archive'), "$dump.archive" ], 'restore by pg_restore');
is(predictions($new, $_), predictions($old), "same predictions in $_") for ('one', 'archive');
my $trust = q{SELECT string_agg(md5(p::text), '' ORDER BY profile_id) || bool_and(step_ms_low < step_ms_high)
    FROM perfmodel.profile, perfmodel.predictor, perfmodel.predict(graph_id, gpu, batch, predictor => name) p WHERE kind = 'linear'};
is($new->safe_psql('postgres', $trust), $old->safe_psql('postgres', $trust), 'same intervals');
like($new->safe_psql('postgres', $trust), qr/true$/, 'and there are intervals');
foreach my $table (split(/\n/, $old->safe_psql('postgres', q{SELECT relname FROM pg_class WHERE relnamespace = 'perfmodel'::regnamespace AND relkind = 'r' ORDER BY 1})))
{
    my $digest = "SELECT count(*), md5(string_agg(md5(t::text), '' ORDER BY md5(t::text))) FROM perfmodel.$table t";
    is($new->safe_psql('postgres', $digest), $old->safe_psql('postgres', $digest), "same rows in $table");
}
is($new->safe_psql('postgres', q{SELECT name FROM perfmodel.predictor WHERE active}), 'small', 'same active predictor');
is($new->safe_psql('postgres', q{SET ROLE dashboard; SELECT perfmodel.predict_train_time(1, 'T4', 8) > 0}), 't', 'grants came along');
my $seen = 'SET ROLE dashboard; SELECT count(*) FROM perfmodel.graph';
my $all = $new->safe_psql('postgres', 'SELECT count(*) FROM perfmodel.graph');
is($old->safe_psql('postgres', $seen), 1, 'row security hides rows');
is($new->safe_psql('postgres', $seen), $all, 'and does not come along');
is($new->safe_psql('postgres', q{SELECT (SELECT count(*) FROM pg_trigger WHERE tgname = 'no_trigger'), to_regclass('perfmodel.own_index') IS NULL}), '0|t', 'nor do triggers and indexes');
$new->safe_psql('postgres', $policies);
is($new->safe_psql('postgres', $seen), 1, 'a script brings it back');
is($new->safe_psql('postgres', q{
        SET client_min_messages = warning;
        SELECT perfmodel.load_graph(helper.cnn('after', 8, 2)) = (SELECT max(graph_id) FROM perfmodel.graph WHERE name <> 'after') + 1,
               perfmodel.train('after', 'linear') = (SELECT max(predictor_id) FROM perfmodel.predictor WHERE name <> 'after') + 1}),
    't|t', 'sequences go on');
$old->stop;
$new->stop;
done_testing();
