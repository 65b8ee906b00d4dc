# ALTER EXTENSION UPDATE: what 0.1.0 stored is there and answers as it did, and
# the catalogue is that of a fresh installation, object by object.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PerfmodelTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = "$FindBin::RealBin/../test/upgrade";
my $node = new_node('upgrade');
$node->start;
$node->safe_psql('postgres', "CREATE DATABASE $_") for ('fresh', 'old', 'guarded', 'long', 'wild');

sub catalog
{
    my ($database, $extension) = @_;
    my $out = $node->safe_psql($database, slurp_file("$dir/catalog.sql") =~ s/:'extension'/'$extension'/gr);
    return $out;
}

# What one list of lines has and the other has not.
sub differences
{
    my ($fresh, $updated) = @_;
    my %in_fresh = map { $_ => 1 } split(/\n/, $fresh);
    my %in_updated = map { $_ => 1 } split(/\n/, $updated);
    return join("\n", (map { "only fresh: $_" } grep { !$in_updated{$_} } sort keys %in_fresh),
        (map { "only updated: $_" } grep { !$in_fresh{$_} } sort keys %in_updated));
}

sub rows_of
{
    my ($database, $table, $where) = (@_, '');
    return $node->safe_psql($database, "SELECT * FROM perfmodel.$table AS t $where ORDER BY t::text COLLATE \"C\"");
}

# --- perfmodel ---

$node->safe_psql('fresh', 'CREATE EXTENSION perfmodel');
$node->safe_psql('old', q{
    CREATE ROLE dashboard; CREATE ROLE trainer;
    CREATE EXTENSION perfmodel VERSION '0.1.0';
    REVOKE EXECUTE ON FUNCTION perfmodel.predict FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION perfmodel.predict TO dashboard WITH GRANT OPTION;
    GRANT EXECUTE ON FUNCTION perfmodel.cross_validate, perfmodel.train TO trainer;
    UPDATE perfmodel.gpu SET memory_gb = 1 WHERE name = 'T4'});
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('old'), '-f', "$dir/0.1.0.sql" ], 'rows of 0.1.0');
$node->safe_psql('long', q{CREATE EXTENSION perfmodel VERSION '0.1.0'});
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('long'), '-f', "$dir/0.1.0.sql" ], 'rows of 0.1.0 once more');
$node->safe_psql('long', q{UPDATE perfmodel.profile SET framework = repeat('x', 600) WHERE profile_id = (SELECT min(profile_id) FROM perfmodel.profile);
    ALTER TABLE perfmodel.graph DISABLE TRIGGER graph_immutable;
    UPDATE perfmodel.graph SET name = repeat('g', 600), family = 'what 0.1.0 said' WHERE graph_id = (SELECT min(graph_id) FROM perfmodel.graph);
    ALTER TABLE perfmodel.graph ENABLE TRIGGER graph_immutable;
    INSERT INTO perfmodel.gpu (name, mem_bw_gbs) VALUES ('RTX 3060', 1), ('TITAN V', 2), ('a card of ours', 3)});
my %kept = map { $_ => $node->safe_psql('old', "SELECT count(*) FROM perfmodel.$_") }
    qw(graph graph_node profile op_profile predictor predictor_weights training_run);

# a library that is newer than the catalogue says so and crashes nowhere
foreach my $call ("perfmodel.predict_train_time(1, 'T4', 8)", "perfmodel.predict(1, 'T4', 8)", "perfmodel.train('x', 'linear')",
    "perfmodel.evaluate()", "perfmodel.what_if(1, NULL, '{8}')", "perfmodel.explain_train_time(1, 'T4', 8)", "perfmodel.activate_predictor('line')",
    "perfmodel.load_graph('{}')", "perfmodel.recalibrate()")
{
    my ($rc, $out, $err) = $node->psql('old', "SELECT $call");
    like($err, qr/SQL objects .* version 0\.1\.0.*ALTER EXTENSION perfmodel UPDATE/s, "before the update: $call");
}

# what others built on functions that change is named, and nothing is done
$node->safe_psql('guarded', q{CREATE EXTENSION perfmodel VERSION '0.1.0';
    CREATE VIEW report AS SELECT g.name, perfmodel.predict_train_time(g.graph_id, 'T4', 8) AS step_ms FROM perfmodel.graph AS g});
my ($rc, $out, $err) = $node->psql('guarded', 'ALTER EXTENSION perfmodel UPDATE');
like($err, qr/used by view \S*report.*HINT:.*drop these objects/s, 'a view on a function that changes is named');
$node->safe_psql('guarded', 'DROP VIEW report; ALTER EXTENSION perfmodel UPDATE');
is(differences(catalog('fresh', 'perfmodel'), catalog('guarded', 'perfmodel')), '', 'without it the update goes through');

$node->safe_psql('old', 'ALTER EXTENSION perfmodel UPDATE');
is($node->safe_psql('old', 'SELECT library = catalog FROM perfmodel.version()'), 't', 'library and catalogue agree');

# a text longer than is allowed now stays, and the update says so
($rc, $out, $err) = $node->psql('long', 'ALTER EXTENSION perfmodel UPDATE');
is($rc, 0, 'an update with long texts');
like($err, qr/WARNING:.*rows of perfmodel\.profile have more than 512 bytes in the column framework\nHINT:.*Shorten them/, 'says which they are');
like($err, qr/WARNING:.*rows of perfmodel\.graph have more than 512 bytes in the column name\n/, 'each of them');
# nor do rows of devices that 0.2.0 brings
like($err, qr/WARNING:.*rows of yours for devices that come with perfmodel now: 'RTX 3060', 'TITAN V'\nDETAIL:.*\nHINT:.*cannot be restored/, 'the same for data sheets');
my ($hint) = $err =~ /(UPDATE perfmodel[.]gpu SET builtin = true .*;)/;
is($node->safe_psql('long', "$hint SELECT string_agg(name || mem_bw_gbs, ',' ORDER BY name) FROM perfmodel.gpu WHERE mem_bw_gbs <= 3"), 'RTX 30601,TITAN V2,a card of ours3', 'which stay');
is($node->safe_psql('long', q{SELECT family = perfmodel.family_of(model) FROM perfmodel.graph ORDER BY graph_id LIMIT 1}), 't', 'what the update changes in such a row is changed');
is($node->safe_psql('long', q{UPDATE perfmodel.graph SET name = 'short' WHERE length(name) = 600; ALTER TABLE perfmodel.graph VALIDATE CONSTRAINT graph_name_at_most_512_bytes;
    UPDATE perfmodel.profile SET framework = 'short'; ALTER TABLE perfmodel.profile VALIDATE CONSTRAINT profile_framework_at_most_512_bytes;
    SELECT conname FROM pg_constraint WHERE NOT convalidated}), '', 'and they can be shortened');
is(differences(catalog('fresh', 'perfmodel'), catalog('long', 'perfmodel')), '', 'then all is as in a fresh installation');
my $sheets = $node->data_dir . '/../sheets.sql';
$node->command_ok([ 'pg_dump', '-f', $sheets, '-d', $node->connstr('long') ], 'a dump of it');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $sheets ], 'can be restored');
is($node->safe_psql('restored', q{SELECT string_agg(name, ',') FROM perfmodel.gpu WHERE mem_bw_gbs <= 3}), 'a card of ours', 'with the cards that are not of perfmodel');

# rows that 0.1.0 took and 0.2.0 does not: all are counted before anything is done, and without them the update goes through
$node->safe_psql('wild', q{CREATE EXTENSION perfmodel VERSION '0.1.0'});
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('wild'), '-f', "$dir/0.1.0.sql" ], 'rows of 0.1.0 for bounds');
$node->safe_psql('wild', q{UPDATE perfmodel.op_profile SET forward_ms = 6e8, backward_ms = 6e8 ;
    INSERT INTO perfmodel.graph (name, model, family, source, nodes, params, unknown_ops, structure, doc) VALUES ('by hand', 'm', 'f', 's', 1, 1, 0, 'x', '{}');
    UPDATE perfmodel.profile SET step_ms = 1e12 WHERE profile_id IN (SELECT profile_id FROM perfmodel.profile ORDER BY 1 LIMIT 2)});
($rc, $out, $err) = $node->psql('wild', 'ALTER EXTENSION perfmodel UPDATE');
like($err, qr/not allowed any more\nDETAIL:.*2 rows of perfmodel\.profile where not step_ms BETWEEN 1e-6 AND 1e9\n1 row of perfmodel\.op_profile where not forward_ms \+ backward_ms <= 1e9\n1 row of perfmodel\.graph where not structure [^\n]*\nHINT:.*Nothing was changed.*SELECT \* FROM perfmodel\.profile WHERE NOT/s,
    'rows out of bounds are counted');
is($node->safe_psql('wild', q{SELECT extversion FROM pg_extension WHERE extname = 'perfmodel'}), '0.1.0', 'and nothing is done');
$node->safe_psql('wild', q{DELETE FROM perfmodel.profile WHERE NOT (step_ms BETWEEN 1e-6 AND 1e9); DELETE FROM perfmodel.op_profile WHERE NOT (forward_ms + backward_ms <= 1e9);
    DELETE FROM perfmodel.graph WHERE name = 'by hand';
    ALTER EXTENSION perfmodel UPDATE});
is(differences(catalog('fresh', 'perfmodel'), catalog('wild', 'perfmodel')), '', 'without them all is as in a fresh installation');

# rights that an administrator gave stay, and are in a dump; the rest is as in a fresh installation
is($node->safe_psql('old', q{SELECT has_function_privilege('dashboard', oid, 'EXECUTE WITH GRANT OPTION'), has_function_privilege('trainer', oid, 'EXECUTE')
    FROM pg_proc WHERE oid = 'perfmodel.predict'::regproc}), 't|f', 'rights on a function that was made anew');
is($node->safe_psql('old', q{SELECT bool_and(has_function_privilege('trainer', f::regproc, 'EXECUTE') AND NOT has_function_privilege('dashboard', f::regproc, 'EXECUTE'))
    FROM unnest('{perfmodel.cross_validate,perfmodel.train}'::text[]) AS f}), 't', 'rights on a function that PUBLIC has none on');
my $dump = $node->data_dir . '/../dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, '-d', $node->connstr('old') ], 'dump');
foreach my $grant ([ 'predict', 'dashboard' ], [ 'cross_validate', 'trainer' ], [ 'train', 'trainer' ])
{
    like(slurp_file($dump), qr/GRANT ALL ON FUNCTION perfmodel\.$grant->[0]\(.*\) TO $grant->[1]/, "the dump has the rights on $grant->[0]");
}
$node->safe_psql('old', q{REVOKE EXECUTE ON FUNCTION perfmodel.predict FROM dashboard; GRANT EXECUTE ON FUNCTION perfmodel.predict TO PUBLIC;
    REVOKE EXECUTE ON FUNCTION perfmodel.cross_validate, perfmodel.train FROM trainer});
is(differences(catalog('fresh', 'perfmodel'), catalog('old', 'perfmodel')), '', 'the catalogue is that of a fresh installation');
is(differences(rows_of('fresh', 'gpu'), rows_of('old', 'gpu', 'WHERE builtin')), '', 'so are the data sheets');

# rows survive, and answer or say why not
is($node->safe_psql('old', "SELECT count(*) FROM perfmodel.$_"), $kept{$_}, "rows of $_") for sort keys %kept;
is($node->safe_psql('old', q{SELECT name FROM perfmodel.predictor WHERE active}), 'net', 'the active predictor is');
is($node->safe_psql('old', q{SELECT count(*) FROM perfmodel.gpu WHERE name = 'Own Chip' AND NOT builtin}), '1', 'a data sheet of the users is');
my %expected;
push @{ $expected{ (split /\|/)[0] } }, $_ foreach split(/\n/, slurp_file("$dir/0.1.0.answers"));
foreach my $name (sort keys %expected)
{
    my ($rc, $out, $err) = $node->psql('old', slurp_file("$dir/answers.sql") =~ s/p\.predictor_id > 0/p.name = '$name'/r);
    my @answers = split(/\n/, $out);
    my $wrong = @answers != @{ $expected{$name} };
    for (my $i = 0; $i < @answers && !$wrong; $i++)
    {
        my ($id, $ms) = (split /\|/, $answers[$i])[1, 2];
        my ($id_before, $ms_before) = (split /\|/, $expected{$name}[$i])[1, 2];
        $wrong = $id != $id_before || abs($ms / $ms_before - 1) > 1e-6;
    }
    ok($err eq '' ? !$wrong : $err =~ /train/i, "predictor $name of 0.1.0 answers as it did, or says that train makes a new one")
        or diag($err);
}
is($node->safe_psql('old', q{SET client_min_messages = warning; SELECT perfmodel.train('new', 'linear') = 6;
    SELECT n = 36 FROM perfmodel.evaluate('new') WHERE grouped_by = 'overall'}), "t\nt", 'and the database goes on to learn');

# --- perfmodel_pretrained ---

SKIP:
{
    skip 'needs a server that finds extensions in a folder of the test', 3 unless $ENV{EXTDEST};
    my $script = 'perfmodel_pretrained--0.1.0.sql';
    my $folder = $ENV{EXTDEST} . `pg_config --sharedir` =~ s/\n//r . '/extension';
    append_to_file("$folder/$script", slurp_file("$dir/$script"));
    $node->safe_psql('old', q{CREATE EXTENSION perfmodel_pretrained VERSION '0.1.0'; SELECT perfmodel.activate_predictor('pretrained')});
    $node->safe_psql('fresh', 'CREATE EXTENSION perfmodel_pretrained');
    $node->safe_psql('old', 'ALTER EXTENSION perfmodel_pretrained UPDATE');
    unlink("$folder/$script");
    is(differences(catalog('fresh', 'perfmodel_pretrained'), catalog('old', 'perfmodel_pretrained')), '', 'the catalogue of perfmodel_pretrained too');
    is(rows_of('old', $_), rows_of('fresh', $_), "rows of $_ are those of this version") for ('predictor_pretrained', 'predictor_weights_pretrained');
}
$node->stop;
done_testing();
