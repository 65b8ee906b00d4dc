# What the TAP tests of perfmodel share: a server that finds the extension, and
# a small world of graphs, measurements and predictors in it.
package PerfmodelTest;

use strict;
use warnings;
use Exporter 'import';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(new_node fill predictions doc_sql doc_output always_parallel $small $intervals);

# a network that trains in a moment
our $small = '{"epochs":4,"d_model":16,"heads":2,"layers":1,"d_operator":8,"hidden":8}';

# All intervals, to the last bit, of a predictor that has some; as one word.
our $intervals = q{SELECT count(*), bool_and(step_ms_low < step_ms_high), md5(string_agg(md5(p::text), '' ORDER BY profile_id))
    FROM perfmodel.profile, perfmodel.predictor, perfmodel.predict(graph_id, gpu, batch, predictor => name) p WHERE kind = 'linear'};

# A server. SERVER_SETTINGS are lines name=value that tell it where the extension is (test/lib.sh).
sub new_node
{
    my ($name, %init) = @_;
    my $node = PostgreSQL::Test::Cluster->new($name);
    $node->init(%init);
    $node->append_conf('postgresql.conf', "$1 = '$2'") while ($ENV{SERVER_SETTINGS} // '') =~ /^(\w+)=(.*)$/mg;
    return $node;
}

sub fill
{
    my ($node) = @_;
    $node->safe_psql('postgres', slurp_file("$FindBin::RealBin/../sql/setup.sql"));
    $node->safe_psql('postgres', qq{
        SET client_min_messages = warning;
        SELECT helper.load_world();
        SELECT perfmodel.train('line', 'linear');
        SELECT perfmodel.train('small', options => '$small');
        SELECT perfmodel.activate_predictor('small');
    });
}

# All predictions, to the last bit.
sub predictions
{
    my ($node, $database) = @_;
    return $node->safe_psql($database // 'postgres', q{
        SELECT p.name, f.graph_id, f.gpu, f.batch,
               encode(float8send(perfmodel.predict_train_time(f.graph_id, f.gpu, f.batch, predictor => p.name)), 'hex')
        FROM perfmodel.predictor p, perfmodel.profile f ORDER BY 1, 2, 3, 4});
}

# Statements after which even a small query runs in parallel workers.
sub always_parallel
{
    my ($node) = @_;
    my $setting = $node->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
    return "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET $setting = on;";
}

# The blocks of a kind in a section of a document, as they stand in it.
sub doc_blocks
{
    my ($document, $section, $kind) = @_;
    my $text = slurp_file("$FindBin::RealBin/../$document");
    $text =~ /^#+ \Q$section\E\n(.*?)(?=^#|\z)/ms or die "$document has no section \"$section\"";
    my @blocks = $1 =~ /^```$kind\n(.*?)^```/msg;
    die "section \"$section\" of $document has no block of $kind" unless @blocks;
    return @blocks;
}

sub doc_sql { return doc_blocks(@_, 'sql'); }

# What the examples print.
sub doc_output { return doc_blocks(@_, 'text'); }

1;
