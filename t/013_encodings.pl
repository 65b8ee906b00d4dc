# Databases whose encoding is not UTF-8: documents, names and messages are
# converted where they enter and leave, and a dump moves to a database of UTF-8.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PerfmodelTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main');
$node->start;
my $letter = "\xc3\xa9";    # a small e with acute accent, in UTF-8
my $setup = slurp_file("$FindBin::RealBin/../sql/setup.sql");

# What a session that speaks UTF-8 sees of a network, a device and a framework with such a letter in their names.
sub story
{
    my ($database) = @_;
    return $node->safe_psql($database, qq{
        SET client_encoding = 'UTF8';
        SELECT name, model, source, family FROM perfmodel.graph WHERE name LIKE 'r%';
        SELECT op, attrs, module FROM perfmodel.graph_node JOIN perfmodel.graph USING (graph_id) WHERE name LIKE 'r%' AND (op LIKE 'Op%' OR node_id = 1) ORDER BY node_id;
        SELECT perfmodel.gpu_name('carte $letter'), perfmodel.gpu_name('alias $letter');
        SELECT gpu, framework FROM perfmodel.profile WHERE gpu LIKE 'Carte%' LIMIT 1;
        SELECT gpus, frameworks FROM perfmodel.predictor WHERE name = 'pr$letter';
        SELECT gpu, encode(float8send(step_ms), 'hex'), encode(float8send(step_ms_high), 'hex'), in_domain, note
            FROM perfmodel.what_if(perfmodel.graph_id('r${letter}s'), NULL, '{8,64}', framework => 'cadre $letter', predictor => 'pr$letter');
        SELECT note FROM perfmodel.predict(perfmodel.graph_id('r${letter}s'), 'Carte $letter', 8, framework => 'x$letter', predictor => 'pr$letter');
        SELECT op FROM perfmodel.explain_train_time(perfmodel.graph_id('r${letter}s'), 'T4', 8, predictor => 'pr$letter') WHERE op LIKE 'Op%';
        SELECT helper.error_of('SELECT perfmodel.gpu_name(''carte x$letter'')'), helper.error_of('SELECT perfmodel.graph_id(''r$letter'')');
        SELECT helper.error_of('SELECT perfmodel.operator_name(''{"format":"perfmodel-graph/1","nodes":[{"id":0,"op":"Op$letter","inputs":[],"shape":[1,8],"batch_dim":0}]}'')');
        SELECT helper.error_of('SELECT perfmodel.load_graph(''{"format":"perfmodel-graph/1","name":"x","nodes":[{"id":"$letter"}]}'')')});
}

sub fill_database
{
    my ($database) = @_;
    $node->safe_psql($database, $setup);
    $node->safe_psql($database, qq{
        SET client_encoding = 'UTF8'; SET client_min_messages = error;
        SELECT helper.load_world();
        SELECT perfmodel.load_graph(jsonb_set(jsonb_set(helper.cnn('r${letter}s', 8, 2) || '{"source":"source $letter"}', '{nodes,7,op}', '"Op$letter"'),
            '{nodes,1,attrs,note}', '"attr $letter"'));
        INSERT INTO perfmodel.gpu (name, mem_bw_gbs, sm_count, cores_per_sm, fp32_tflops, aliases) VALUES ('Carte $letter', 500, 32, 64, 6, '{alias $letter}');
        INSERT INTO perfmodel.profile (graph_id, gpu, batch, framework, step_ms)
            SELECT graph_id, 'alias $letter', batch, 'cadre $letter', step_ms * 1.5 FROM perfmodel.profile WHERE gpu = 'T4' ORDER BY profile_id;
        SELECT perfmodel.train('pr$letter', 'linear')});
}

$node->safe_psql('postgres', "CREATE DATABASE $_->[0] TEMPLATE template0 ENCODING '$_->[1]' LC_COLLATE 'C' LC_CTYPE 'C'")
    for ([ 'utf8', 'UTF8' ], [ 'latin1', 'LATIN1' ], [ 'ascii', 'SQL_ASCII' ], [ 'moved', 'UTF8' ]);
fill_database($_) for ('utf8', 'latin1', 'ascii');
my $story = story('utf8');
like($story, qr/r${letter}s.*attr $letter.*Op$letter.*Carte $letter.*cadre $letter/s, 'the story is told');
is(story('latin1'), $story, 'the same in LATIN1');
is(story('ascii'), $story, 'the same in SQL_ASCII that holds UTF-8');

# what plots add themselves can be said in each, and no byte of a label is too much
is($node->safe_psql($_, "SELECT perfmodel.plot('bars', '{1}', label => ARRAY[repeat('x', 400)]) ~ '&#8230;' AND perfmodel.escape_markup(repeat('x', 400), 20) ~ '^x+&#8230;\$'"), 't', "a name that is cut, in $_")
    for qw(utf8 latin1 ascii);
is($node->safe_psql('ascii', "SET client_encoding = 'SQL_ASCII'; SELECT perfmodel.plot('bars', '{1}', label => ARRAY[E'r\\351s']) ~ 'r[?]s'"), 't', 'a label in bytes of no known encoding');
# a page says that it is UTF-8, and is, also where a client writes another encoding into its file
for my $database (qw(utf8 latin1 ascii))
{
    my ($page, $utf8) = map { $node->safe_psql($database, "SET client_encoding = '$_'; SELECT perfmodel.report_page('r' || convert_from('\\xc3a9', 'UTF8'), '<p>' || convert_from('\\xc3a9', 'UTF8') || '</p>')") } $database eq 'ascii' ? 'SQL_ASCII' : 'LATIN1', 'UTF8';
    like($page, qr/<title>r&#233;<.*<p>&#233;</s, "a letter on a page, in $database");
    is($page, $utf8, 'the same to any client');
    unlike($page, qr/[^\x01-\x7e]/, 'and all of it in ASCII');
}
is($node->safe_psql('latin1', "SET client_encoding = 'LATIN1'; SELECT perfmodel.report(predictor => convert_from('\\x7072c3a9', 'UTF8')) ~ 'Predictor pr&#233;'"), 't', 'the name of a predictor');
# a long text has no more bytes in UTF-8 than there is room for
is($node->safe_psql('latin1', q{SELECT perfmodel.escape_markup(repeat('x', 270000000), 3)}), 'xx&#8230;', 'a long text');
# a letter that the encoding lacks is an error, or a question mark in a message
my ($rc, $out, $err) = $node->psql('latin1', qq{SET client_encoding = 'UTF8'; SELECT perfmodel.load_graph(helper.cnn('\x{e2}\x{82}\x{ac}', 8, 2))});
like($err, qr/has no equivalent in encoding "LATIN1"/, 'a letter that LATIN1 lacks');
# bytes that are not UTF-8
($rc, $out, $err) = $node->psql('ascii', qq{SET client_encoding = 'SQL_ASCII'; SELECT perfmodel.load_graph(helper.cnn(E'r\\351s', 8, 2))});
like($err, qr/invalid byte sequence for encoding "UTF8"/, 'SQL_ASCII that holds something else');

# a row that holds such bytes spoils nothing for the others: what is asked about them is answered as before
is($node->safe_psql('ascii', q{SET client_encoding = 'SQL_ASCII'; SET client_min_messages = error;
    INSERT INTO perfmodel.gpu (name, mem_bw_gbs, sm_count, cores_per_sm, fp32_tflops, aliases)
        VALUES (E'Karte \\351', 500, 32, 64, 6, '{}');
    UPDATE perfmodel.gpu SET aliases = aliases || ARRAY[E'\\351\\351', 'simple'] WHERE name = 'T4';
    UPDATE perfmodel.profile SET framework = E'fram\\351' WHERE profile_id = 1;
    UPDATE perfmodel.graph SET name = E'gr\\351' WHERE name = 'cnet2@16';
    SELECT perfmodel.find_gpu('simple'), perfmodel.find_gpu(E'Karte \\351') IS NULL, perfmodel.find_gpu(E'\\351\\351') IS NULL;
    SELECT perfmodel.find_graph(E'gr\\352') IS NULL, perfmodel.find_dtype(E'\\351') IS NULL, perfmodel.find_layout(E'\\351') IS NULL;
    SELECT step_ms IS NULL, reasons FROM perfmodel.predict(perfmodel.find_graph('anet4@16'), E'\\351', 8, on_error => 'null');
    SELECT step_ms > 0, reasons FROM perfmodel.predict(perfmodel.find_graph('anet4@16'), 'T4', 8, framework => E'\\351');
    SELECT perfmodel.train('after', 'linear') > 0;
    SELECT n FROM perfmodel.evaluate('after') WHERE grouped_by = 'overall';
    SELECT match FROM perfmodel.resolve_job_names(ARRAY['anet4@16', E'gr\\351'], NULL, NULL) WHERE what = 'graph'}),
    "T4|t|t\nt|t|t\nt|{unknown_gpu}\nt|{framework_not_seen}\nt\n144\nexact\nexact", 'rows with bytes that are not UTF-8');
is(story('ascii'), $story, 'the story is the same beside them');

# the stored predictor and its names are the same in a database of UTF-8
my $dump = $node->data_dir . '/../latin1.dump';
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, '-d', $node->connstr('latin1') ], 'dump of LATIN1');
$node->command_ok([ 'pg_restore', '-e', '-d', $node->connstr('moved'), $dump ], 'restore into UTF-8');
is(story('moved'), $story, 'the same after the move');
$node->stop;
done_testing();
