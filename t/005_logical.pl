# A subscriber of logical replication predicts the same bits as its publisher,
# and so does a standby; a session that is open there hears of every change.
# The statements that set it up stand in docs/scale-out.md.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PerfmodelTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = new_node('publisher', allows_streaming => 'logical');
$publisher->start;
fill($publisher);
$publisher->safe_psql('postgres', q{INSERT INTO perfmodel.gpu (name, mem_bw_gbs, sm_count, cores_per_sm, fp32_tflops, aliases)
    VALUES ('Own Chip', 500, 32, 64, 6, '{oc}')});
$publisher->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($publisher, 'backup', has_streaming => 1);
$standby->start;
my $subscriber = new_node('subscriber');
$subscriber->start;
$subscriber->safe_psql('postgres', 'CREATE EXTENSION perfmodel');

my $address = 'host=' . $publisher->host . ' port=' . $publisher->port . ' dbname=postgres';
$publisher->safe_psql('postgres', $_) for doc_sql('docs/scale-out.md', 'On the publisher');
$subscriber->safe_psql('postgres', $_ =~ s/host=publisher dbname=mydb/$address/r) for doc_sql('docs/scale-out.md', 'On each subscriber');
sub catch_up { $publisher->wait_for_catchup('perfmodel'); $publisher->wait_for_catchup($standby); }
$subscriber->wait_for_subscription_sync($publisher, 'perfmodel');
catch_up();

my $all = predictions($publisher);
is(predictions($standby), $all, 'a physical replica gives the same bits');
is(predictions($subscriber), $all, 'a logical replica gives the same bits');
is($subscriber->safe_psql('postgres', $intervals), $publisher->safe_psql('postgres', $intervals), 'and the same intervals');
is($standby->safe_psql('postgres', $intervals), $publisher->safe_psql('postgres', $intervals), 'as the standby does');
my $oc = q{SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'oc', 8, predictor => 'line')};
is($subscriber->safe_psql('postgres', $oc), $publisher->safe_psql('postgres', $oc), 'own devices come along');

# one open session of each replica; everything it uses is remembered
my %session = map { $_->name => $_->background_psql('postgres') } ($standby, $subscriber);
sub same
{
    my ($query, $what) = @_;
    catch_up();
    my $wanted = $publisher->safe_psql('postgres', $query);
    is($session{$_}->query_safe($query), $wanted, "$what, in an open session of the $_") for sort keys %session;
    return $wanted;
}
my $ask = q{SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8)};
my $by_name = q{SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8, predictor => 'small')};
my $first = same($ask, 'a prediction');
same($by_name, 'by a named predictor');
$publisher->safe_psql('postgres', q{SELECT perfmodel.activate_predictor('line')});
isnt(same($ask, 'another predictor is active'), $first, 'which is another answer');
$publisher->safe_psql('postgres', qq{SET client_min_messages = warning; BEGIN; SELECT perfmodel.drop_predictor('small');
    SELECT perfmodel.train('small', options => '$small'::jsonb || '{"seed": 7}'); SELECT perfmodel.activate_predictor('small'); COMMIT});
isnt(same($by_name, 'a predictor was replaced under its name'), $first, 'by another one');
same($ask, 'and is active');
same(q{SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'oc', 8, predictor => 'roof')}, 'a device')
    if $publisher->safe_psql('postgres', q{SELECT perfmodel.train('roof', 'roofline')});
$first = same(q{SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'oc', 8, predictor => 'roof')}, 'its data sheet');
$publisher->safe_psql('postgres', q{UPDATE perfmodel.gpu SET fp32_tflops = 1, mem_bw_gbs = 50 WHERE name = 'Own Chip'});
isnt(same(q{SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'oc', 8, predictor => 'roof')}, 'its new data sheet'),
    $first, 'which makes a difference');
$publisher->safe_psql('postgres', q{UPDATE perfmodel.graph SET name = 'renamed' WHERE name = 'anet4@16'});
same(q{SELECT perfmodel.graph_id('renamed'), perfmodel.predict_train_time(perfmodel.graph_id('renamed'), 'T4', 8)}, 'a graph has another name');
$publisher->safe_psql('postgres', q{DELETE FROM perfmodel.profile; DELETE FROM perfmodel.graph WHERE name = 'renamed'});
my $gone = q{SELECT helper.error_of('SELECT perfmodel.graph_id(''renamed'')') ~ '^42704'};
$subscriber->safe_psql('postgres', 'CREATE SCHEMA helper');
$subscriber->safe_psql('postgres', $publisher->safe_psql('postgres', q{SELECT pg_get_functiondef('helper.error_of'::regproc)}));
is(same($gone, 'a graph is gone'), 't', 'there');
$publisher->safe_psql('postgres', q{SELECT perfmodel.drop_predictor('small')});
is(same(q{SELECT helper.error_of('SELECT perfmodel.predict_train_time(2, ''T4'', 8, predictor => ''small'')') ~ '^42704'},
        'a predictor is gone'), 't', 'there');
$publisher->safe_psql('postgres', q{SELECT perfmodel.activate_predictor('line')});
same(q{SELECT perfmodel.predict_train_time(2, 'T4', 8)}, 'a prediction');
$publisher->safe_psql('postgres', q{TRUNCATE perfmodel.predictor, perfmodel.predictor_weights, perfmodel.training_run});
is(same(q{SELECT helper.error_of('SELECT perfmodel.predict_train_time(2, ''T4'', 8)') ~ 'no predictor is active'}, 'all are gone'), 't', 'there');

$_->quit for values %session;
$_->stop for ($subscriber, $standby, $publisher);
done_testing();
