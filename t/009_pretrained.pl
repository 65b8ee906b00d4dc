# The predictor that comes trained moves with its extension: a copy of the
# database has it once, beside predictors of the database's own, and the one
# that was active is. A session that has used it notices when it is dropped.
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
$old->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE postgres") foreach ('maker', 'taker');
$old->safe_psql('postgres', 'CREATE EXTENSION perfmodel_pretrained');
my $digest = q{SELECT count(*), md5(string_agg(md5(t::text), '' ORDER BY predictor_id)), string_agg(name, ' ' ORDER BY name) FROM perfmodel.predictor t};
my $answer = q{SELECT (perfmodel.predict(1, 'RTX 3090', 16, 'amp')).predictor_id, md5(string_agg(perfmodel.predict(1, 'RTX 3090', b, 'amp', predictor => 'pretrained')::text, ''))
    FROM generate_series(1, 64) AS b};
my $dump = $old->data_dir . '/../dump.sql';

foreach my $active ('small', 'pretrained')
{
    $old->safe_psql('postgres', "SELECT perfmodel.activate_predictor('$active')");
    my $database = "with_$active";
    $old->command_ok([ 'pg_dump', '-f', $dump, '-d', $old->connstr('postgres') ], "dump, $active active");
    $old->safe_psql('postgres', "CREATE DATABASE $database");
    my ($out, $err) = run_command([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $old->connstr($database), '-f', $dump ]);
    is($err, '', 'restore without errors');
    is($old->safe_psql($database, $answer), $old->safe_psql('postgres', $answer), "same answers, $active active");
    is($old->safe_psql($database, 'SELECT count(*) FROM perfmodel.predictor WHERE predictor_id < 0'), '1', 'there once');
    is($old->safe_psql($database, 'SELECT name FROM perfmodel.predictor WHERE active'), $active, 'one is active');
}
unlike($old->safe_psql('postgres', "SELECT pg_read_file('$dump')"), qr/COPY perfmodel\.predictor_pretrained/, 'its weights are not in the dump');

# another session
my $session = $old->background_psql('postgres', on_error_stop => 0);
is($session->query(q{SELECT perfmodel.predict_train_time(1, 'RTX 3090', 16, 'amp') > 0}), 't', 'used by a session');
$old->safe_psql('postgres', 'DROP EXTENSION perfmodel_pretrained');
$session->query(q{SELECT perfmodel.predict_train_time(1, 'RTX 3090', 16, 'amp')});
like($session->{stderr}, qr/no predictor is active/, 'which notices that it is gone');
$session->quit;

# what tools/pretrain.sh writes is such a predictor
my $script = $old->data_dir . '/../script.sql';
$old->safe_psql('maker', q{DELETE FROM perfmodel.predictor WHERE name = 'line'; UPDATE perfmodel.predictor SET name = 'pretrained'});
$old->command_ok([ 'psql', '-XqtA', '-v', 'ON_ERROR_STOP=1', '-d', $old->connstr('maker'), '-o', $script, '-f', "$FindBin::RealBin/../tools/pretrained_script.sql" ], 'written');
$old->safe_psql('taker', q{DELETE FROM perfmodel.predictor; CREATE EXTENSION perfmodel_pretrained VERSION 'empty'});
$old->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $old->connstr('taker'), '-f', $script ], 'read');
is(predictions($old, 'taker'), predictions($old, 'maker'), 'the same to the last bit');
is($old->safe_psql('taker', 'SELECT predictor_id, active FROM perfmodel.predictor'), '-1|t', 'the one that comes trained');
$old->stop;
done_testing();
