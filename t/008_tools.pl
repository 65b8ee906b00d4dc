# The tools put graphs and measurements straight into a database.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PerfmodelTest;
use PostgreSQL::Test::Utils;
use Test::More;

# Debian's psycopg2 and PyTorch belong to Debian's Python, which need not be the first in the path.
my ($python) = grep { system(qq($_ -c "import psycopg2" 2>/dev/null)) == 0 } ('python3', '/usr/bin/python3');
plan skip_all => 'no python3 with psycopg2; the package python3-psycopg2 has it' unless $python;
my $has_torch = system(qq($python -c "import torch" 2>/dev/null)) == 0;

my $node = new_node('tools');
$node->start;
$ENV{PYTHONPATH} = "$FindBin::RealBin/../tools";
my $dir = PostgreSQL::Test::Utils::tempdir();

# Exit status, stdout and stderr of the tools.
sub tools
{
    my (@args) = @_;
    my $out = '';
    my $err = '';
    IPC::Run::run([ $python, '-m', 'perfmodel_tools', @args ], '>', \$out, '2>', \$err);
    return ($? >> 8, $out, $err);
}

my @db = ('--db', $node->connstr('postgres'));
sub value { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }

# ---- import ----

my $graph = '{"format":"perfmodel-graph/1","name":"%s","nodes":[{"id":0,"op":"Input","inputs":[],"shape":[1,8],"batch_dim":0},'
    . '{"id":1,"op":"Gemm","inputs":[0],"shape":[1,4],"batch_dim":0,"weights":[[4,8],[4]]}]}' . "\n";
my $head = "graph,model,gpu,batch,dtype,layout,framework,mode,optimizer,world_size,nodes,step_ms,forward_ms,backward_ms,"
    . "update_ms,peak_memory_mb,spread,steps,measured_at,source\n";
my $row = "%s,one,%s,%d,fp32,nchw,pytorch 2.1,train,sgd_momentum,1,1,%s,1,2,,100,0.01,9,2026-01-01T00:00:00Z,me\n";
append_to_file("$dir/graphs.ndjson", sprintf($graph, 'one') . sprintf($graph, 'two'));
append_to_file("$dir/profiles.csv", $head . sprintf($row, 'one', 'tesla_t4', 8, '4.5') . sprintf($row, 'two', 'T4', 16, '6.5'));

my ($rc, $out, $err) = tools('import', @db, "$dir/profiles.csv");
is($rc, 2, 'a database without perfmodel');
like($err, qr/has no perfmodel; run CREATE EXTENSION perfmodel/, 'says so');
$node->safe_psql('postgres', 'CREATE EXTENSION perfmodel');

($rc, $out, $err) = tools('import', @db, "$dir/profiles.csv");
is($rc, 2, 'profiles without their graphs');
like($err, qr{profiles.csv, entry 1: 2 graphs are not loaded, among them .one..*nothing of this file was stored}, "names one");
($rc, $out, $err) = tools('import', @db, "$dir/profiles.csv", "$dir/graphs.ndjson");
is($rc, 0, 'both at once, in any order') or diag($err);
is(value(q{SELECT string_agg(format('%s %s %s %s', name, gpu, batch, step_ms), ', ' ORDER BY name)
    FROM perfmodel.profile JOIN perfmodel.graph USING (graph_id)}), 'one T4 8 4.5, two T4 16 6.5', 'rows are there');
like($err, qr/profiles.csv: 2 new, 0 there already/, 'says how many');
like($err, qr/1 of the graphs.*the same network is there under another name/, 'networks that are there twice are counted once, at the end');
unlike($err, qr/already there as/, 'and not named one by one');
($rc, $out, $err) = tools('import', @db, "$dir/profiles.csv", "$dir/graphs.ndjson");
like($err, qr/graphs.ndjson: 0 new, 2 there.*profiles.csv: 0 new, 2 there already/s, 'a second time adds nothing');

append_to_file("$dir/bad.csv", $head . sprintf($row, 'one', 'T4', 4, '1.5') . sprintf($row, 'one', 'T5', 4, '1.5'));
($rc, $out, $err) = tools('import', @db, "$dir/bad.csv");
is($rc, 2, 'a device that is not known');
like($err, qr/bad.csv, entry 2: unknown GPU "T5".*Did you mean/, 'says which row, and what there is');
is(value('SELECT count(*) FROM perfmodel.profile'), 2, 'nothing of that file is stored');
append_to_file("$dir/gone.csv", $head . sprintf($row, 'one', 'T4', 4, '1.5') . sprintf($row, 'gone', 'T4', 4, '1.5'));
($rc, $out, $err) = tools('import', @db, "$dir/gone.csv");
like($err, qr/gone.csv, entry 2: the graph 'gone' is not loaded/, 'the row to blame is named, not the first');

append_to_file("$dir/ops.csv", "operator,gpu,batch,dtype,layout,framework,forward_ms,backward_ms,spread,measured_at,source\n"
    . '"' . (sprintf($graph, 'op') =~ s/"/""/gr =~ s/\n//r) . '",T4,4,fp32,nchw,pytorch 2.1,0.5,,0.01,2026-01-01T00:00:00Z,me' . "\n");
tools('import', @db, "$dir/ops.csv") for 1 .. 2;
is(value('SELECT op, forward_ms, backward_ms IS NULL FROM perfmodel.op_profile'), 'Gemm|0.5|t', 'operators, once');

append_to_file("$dir/few.csv", "graph,gpu,batch,step_ms\none,T4,32,9.5\n");
append_to_file("$dir/few_ops.csv", "operator,gpu,batch,forward_ms\n"
    . '"' . (sprintf($graph, 'op') =~ s/"/""/gr =~ s/\n//r) . '",T4,32,0.7' . "\n");
tools('import', @db, "$dir/few.csv", "$dir/few_ops.csv") for 1 .. 2;
is(value('SELECT dtype, layout, mode, optimizer, world_size, step_ms FROM perfmodel.profile WHERE batch = 32'),
    'fp32|nchw|train|sgd_momentum|1|9.5', 'what a file does not have is the default, and the row is there once');
is(value('SELECT dtype, layout, forward_ms FROM perfmodel.op_profile WHERE batch = 32'), 'fp32|nchw|0.7', 'also of operators');

append_to_file("$dir/short.csv", "graph,gpu,batch,step_ms\none,V100,64,9.5\none,V100,128,9.5\n");
my @said = (tools('import', @db, "$dir/short.csv"))[2] =~ /GPU "V100" is taken for "V100-SXM2-16GB"[.] If another one is meant, write its whole name:/g;
is(@said, 1, 'a short name of a card is told, once');
is(value("DELETE FROM perfmodel.profile WHERE gpu LIKE 'V100%' RETURNING batch"), "64\n128", 'and its rows are there');

append_to_file("$dir/several.csv", "\xef\xbb\xbfgraph,gpu,batch,step_ms,world_size,parallel\none,T4,256,9.5,1,\none,T4,256,9.5,2,\none,T4,256,9.5,2,\"{\"\"tp\"\": 2}\"\n");
tools('import', @db, "$dir/several.csv") for 1 .. 2;
is(value('DELETE FROM perfmodel.profile WHERE batch = 256 RETURNING world_size, parallel'), "1|\n2|\n2|{\"tp\": 2}", 'the same time on other devices is another row');

append_to_file("$dir/other.csv", "a,b\n1,2\n");
like((tools('import', @db, "$dir/other.csv"))[2], qr/is neither graphs .* nor a CSV of profiles or operators/, 'another kind of file');
like((tools('import', '--db', 'host=/nowhere', "$dir/ops.csv"))[2], qr/cannot connect/, 'no server');

# ---- prices ----

# Exit status, stderr and stdout of an import of a list, with options.
sub import_list
{
    my ($list, @options) = @_;
    unlink "$dir/prices.csv";
    append_to_file("$dir/prices.csv", $list);
    IPC::Run::run([ 'sh', "$FindBin::RealBin/../tools/import_prices.sh", @options, "$dir/prices.csv", 'aws', $node->connstr('postgres') ], '>', \my $said, '2>', \my $failed);
    return ($? >> 8, $failed, $said);
}

# The same of a list of these lines.
sub prices
{
    return import_list(join("\n", 'InstanceType,AcceleratorName,AcceleratorCount,Price,Region', @_) . "\n");
}
($rc, $err) = prices('g4dn.xlarge,T4,1,0.526,us-east-1', 'g4dn.12xlarge,T4,4,3.912,us-east-1', 'z1,T5,1,9,us-east-1');
is($rc, 0, 'a price list') or diag($err);
is(value('SELECT gpu, provider, region, kind, usd_per_hour FROM perfmodel.price'), 'T4|aws|us-east-1|on_demand|0.526', 'the cheapest machine with a GPU');
($rc, $err) = prices('g4dn.xlarge,T4,1,0.4,us-east-1', '\.', "\\! touch $dir/owned", 'DROP TABLE perfmodel.price;');
is($rc, 1, 'a list that goes on in commands');
like($err, qr/a line of .*prices.csv begins with/, 'is refused');
ok(!-e "$dir/owned", 'and does nothing');
is(value('SELECT usd_per_hour FROM perfmodel.price WHERE upper_inf(valid)'), '0.526', 'the prices are as before');

# what is valid now ends, also where it was to end later; what begins later stays, and a new price ends there
value(q{DELETE FROM perfmodel.price;
    INSERT INTO perfmodel.price (gpu, provider, region, usd_per_hour, valid) VALUES
        ('L4', 'aws', 'us', 1, '[9000-01-01,9001-01-01)'), ('L4', 'aws', 'us', 2, '[9005-01-01,)'), ('L4', 'aws', 'eu', 3, '[8000-01-01,)'),
        ('T4', 'aws', 'us', 4, '(,2001-01-01)'), ('T4', 'aws', 'us', 5, '[2001-01-01,9000-01-01)'), ('T4', 'gcp', 'us', 6, '[2001-01-01,9000-01-01)')});
my $prices = q{SELECT gpu, provider, region, usd_per_hour, years FROM perfmodel.price,
        LATERAL (SELECT string_agg(CASE WHEN t BETWEEN now() - interval '1 day' AND now() THEN 'now' ELSE extract(year FROM t)::text END, ' to ' ORDER BY t) AS years
                 FROM unnest(ARRAY[coalesce(lower(valid), '-infinity'), coalesce(upper(valid), 'infinity')]) AS t) AS y
    ORDER BY provider, gpu, region, lower(valid) NULLS FIRST};
my $expected = join("\n", 'L4|aws|eu|3|8000 to Infinity', 'L4|aws|us|%s|now to 9000', 'L4|aws|us|1|9000 to 9001', 'L4|aws|us|2|9005 to Infinity',
    'T4|aws|us|4|-Infinity to 2001', 'T4|aws|us|5|2001 to now', 'T4|aws|us|%s|now to Infinity', 'T4|gcp|us|6|2001 to 9000');
($rc, $err) = prices('g6,L4,1,0.8,us', 'g4,T4,1,0.5,us');
is($rc, 0, 'a list while there are prices that begin or end later') or diag($err);
is(value($prices), sprintf($expected, 0.8, 0.5), 'the prices of all times');
($rc, $err) = prices('g6,L4,1,0.7,us', 'g4,T4,1,0.4,us');
is($rc, 0, 'and once more') or diag($err);
is(value($prices) =~ s/^.*now to now\n//mgr, sprintf($expected, 0.7, 0.4), 'the new ones hold from now on');

# another case is the same provider and the same region
value(q{DELETE FROM perfmodel.price; INSERT INTO perfmodel.price (gpu, provider, region, usd_per_hour, valid) VALUES ('T4', 'AWS', 'US', 4, '(,)'), ('L4', 'Aws', 'US', 1, '[9000-01-01,)')});
($rc, $err) = prices('g6,L4,1,0.7,us', 'g4,T4,1,0.5,us', 'g4,T4,1,0.4,Us');
is($rc, 0, 'a list in another case') or diag($err);
is(value($prices), "T4|AWS|US|4|-Infinity to now\nL4|Aws|US|1|9000 to Infinity\nL4|aws|us|0.7|now to 9000\nT4|aws|Us|0.4|now to Infinity", 'ends what it replaces');

# a list without any price that can be stored, such as a download that broke off, ends none
for ([ '', 'only a header', qr/It has 0 rows; GPUs in them: none/ ], [ "z,T5,1,9,us\nz,T6,1,9,us\n", 'only unknown GPUs', qr/It has 2 rows; GPUs in them: T5, T6/ ],
    [ "g4,T4,0,9,us\ng4,T4,1,,us\n", 'only rows that say nothing', qr/It has 2 rows; GPUs in them: T4/ ])
{
    my $before = value($prices);
    ($rc, $err, $out) = import_list("InstanceType,AcceleratorName,AcceleratorCount,Price,Region\n$_->[0]");
    isnt($rc, 0, "a list with $_->[1]");
    like($err, qr/the list has no price of a GPU that perfmodel knows: all prices stay as they were.*$_->[2]/s, 'is refused');
    is(value($prices), $before, 'and the prices are as before');
}
for ([ '', 'an empty list' ], [ "GPU,USD per hour,Provider\nT4,1,aws\n", 'a list of other columns' ], [ "AcceleratorName;AcceleratorCount;Price;Region\nT4;1;1;us\n", 'a list with semicolons' ])
{
    ($rc, $err) = import_list($_->[0]);
    is($rc, 1, $_->[1]);
    like($err, qr/lacks the columns AcceleratorName, AcceleratorCount, Price, Region\n/, 'is told what is needed');
}
($rc, $err) = import_list("AcceleratorName,Price,Region\nT4,1,us\n");
like($err, qr/lacks the columns AcceleratorCount\n/, 'and what it lacks');

# lines as Windows ends them, also where the last one does not end, after a mark of UTF-8
value('DELETE FROM perfmodel.price');
($rc, $err) = import_list("\xef\xbb\xbfAcceleratorName,AcceleratorCount,Price,Region\r\nT4,1,0.5,us\r\nL4,2,1.6,us");
is($rc, 0, 'a list as Windows writes it') or diag($err);
is(value($prices), "L4|aws|us|0.8|now to Infinity\nT4|aws|us|0.5|now to Infinity", 'has its prices');
like((import_list("AcceleratorName,AcceleratorCount,Price,Region\nT4,1,0.4,us\n\r\\.\nDROP TABLE perfmodel.price;\n"))[1], qr/begins with/, 'and no commands');

# prices from a time on: what holds then ends, what begins later stays
my $list = "AcceleratorName,AcceleratorCount,Price,Region\nT4,1,0.3,us\n";
is((import_list($list, '--from', '2020-01-01'))[0], 0, 'a list of a time that is past');
is(value($prices), "L4|aws|us|0.8|now to Infinity\nT4|aws|us|0.3|2020 to now\nT4|aws|us|0.5|now to Infinity", 'holds up to the prices that are there');
is((import_list($list =~ s/0[.]3/0.2/r, '--from', '2022-01-01'))[0], 0, 'one of a later time');
is((import_list($list =~ s/0[.]3/0.1/r, '--from', '-infinity'))[0], 0, 'and one of always');
is((import_list($list =~ s/0[.]3/0.15/r, '--from', '-infinity'))[0], 0, 'which is corrected');
is(value($prices), "L4|aws|us|0.8|now to Infinity\nT4|aws|us|0.15|-Infinity to 2020\nT4|aws|us|0.3|2020 to 2022\nT4|aws|us|0.2|2022 to now\nT4|aws|us|0.5|now to Infinity",
    'each holds to the next');
like((import_list($list, '--from', 'yesteryear'))[1], qr/invalid input syntax for type timestamp with time zone: "yesteryear"/, 'a time that is none');
is((import_list($list, '--since', '2020-01-01'))[0], 2, 'an option that is none');

# ---- measured straight into the database ----

SKIP:
{
    skip 'no PyTorch', 14 unless $has_torch;
    append_to_file("$dir/mine.py", "import torch\ndef build():\n"
        . "    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)), torch.zeros(1, 4)\n");
    my @fast = ('--warmup', '1', '--steps', '3', '--max-spread', '0', '--device-name', 'tesla-t4');

    ($rc, $out, $err) = tools('export', "$dir/mine.py:build", '--sql');
    is($node->psql('postgres', $out), 0, 'export --sql | psql');
    is(value(q{SELECT nodes FROM perfmodel.graph WHERE name = 'mine'}), 4, 'the graph is there');

    append_to_file("$dir/tuned.py", "import mine\ndef build():\n    module, x = mine.build()\n    for p in module[0].parameters():\n"
        . "        p.requires_grad_(False)\n    return module, x\n");
    {
        local $ENV{PYTHONPATH} = "$ENV{PYTHONPATH}:$dir";
        ($rc, $out, $err) = tools('export', "$dir/tuned.py:build", '--sql');
    }
    is($node->psql('postgres', $out), 0, 'a module with frozen parameters');
    is(value(q{SELECT g.params, string_agg(format('%s %s', n.params, n.flops_backward > 0), ', ' ORDER BY node_id) FROM perfmodel.graph AS g JOIN perfmodel.graph_node AS n USING (graph_id)
        WHERE g.name = 'tuned' AND n.op = 'Gemm' GROUP BY 1}), '18| f, 18 t', 'is trained where they are not');

    ($rc, $out, $err) = tools('profile', '--import', @db, "$dir/mine.py:build", '--batch', '1', '2', '--device-name', 'T5');
    like($err, qr/unknown GPU "T5".*--device-name NAME.*INSERT INTO perfmodel.gpu/s, 'an unknown device is noticed before anything is measured');
    ($rc, $out, $err) = tools('profile', '--import', @db, "$dir/mine.py:build", '--batch', '1', '--device-name', q{Ann's CPU (4 threads)});
    my ($insert) = $err =~ /^ +(INSERT INTO perfmodel.gpu.*?;)$/ms;
    is($node->psql('postgres', $insert // 'none'), 0, 'for a CPU there is a statement that adds it') or diag($err);
    is(value(q{SELECT count(*) FROM perfmodel.gpu WHERE name = 'Ann''s CPU (4 threads)' AND is_cpu AND fp32_tflops > 0}), 1, 'which does');

    ($rc, $out, $err) = tools('export', "$dir/mine.py:build", 'lenet', 'dcgan_g', '--sql');
    like($out, qr/^SET client_min_messages = warning;\n(SELECT perfmodel.load_graph.*\n){3}RESET client_min_messages;\nSELECT count/, 'many graphs load without a notice each');
    ($rc, $out, $err) = tools('profile', '--import', @db, "$dir/mine.py:build", '--name', 'own@4', '--batch', '1', '2', @fast);
    is($rc, 0, 'profile --import') or diag($err);
    my $rows = q{SELECT string_agg(format('%s %s %s', name, gpu, batch), ', ' ORDER BY batch) FROM perfmodel.profile
        JOIN perfmodel.graph USING (graph_id) WHERE model = 'own' AND step_ms > 0 AND forward_ms > 0 AND spread >= 0};
    is(value($rows), 'own@4 T4 1, own@4 T4 2', 'rows and their graph are there');
    ($rc, $out, $err) = tools('profile', '--import', @db, "$dir/mine.py:build", '--name', 'own@4', '--batch', '1', '2', '4', @fast);
    like($err, qr/2 rows present/, 'what is there is not measured again');
    is(value($rows), 'own@4 T4 1, own@4 T4 2, own@4 T4 4', 'what is not is');

    tools('profile', '--import', @db, "$dir/mine.py:build", '--name', 'own@4', '--mode', 'inference', '--batch', '2', @fast) for 1 .. 2;
    is(value(q{SELECT batch, optimizer, step_ms > 0, forward_ms IS NULL FROM perfmodel.profile WHERE mode = 'inference'}),
        '2|none|t|t', 'a forward pass, once');

    ($rc, $out, $err) = tools('profile-ops', '--import', @db, '--count', '3', '--device-name', 'T4', '--max-gflop', '0.01',
        '--max-mb', '1', '--row-budget', '0.002', '--max-spread', '1000');
    is(value(q{SELECT count(*) FROM perfmodel.op_profile WHERE source LIKE '%draw 1:%'}), 3, 'profile-ops --import') or diag($err);
}

# ---- what README.md prints of a network of one's own ----

SKIP:
{
    my $version = $has_torch ? qx($python -c "import torch; print(torch.__version__)") : '';
    skip 'README.md has the answer for the graph of PyTorch 1.13', 3 unless $version =~ /^1[.]13/;
    $node->safe_psql('postgres', 'CREATE DATABASE readme');
    $node->safe_psql('readme', 'CREATE EXTENSION perfmodel_pretrained CASCADE');
    my $section = 'A network of your own';
    ($rc, $out, $err) = tools('export', "$FindBin::RealBin/../demo/own_model.py:build", '--image', '96', '--sql');
    is($node->psql('readme', $out), 0, 'the export of README.md') or diag($err);
    my ($sql) = doc_sql('README.md', $section);
    my ($printed) = doc_output('README.md', $section);
    my ($got, $said) = run_command([ 'psql', '-X', '-d', $node->connstr('readme'), '-c', $sql ]);
    is($said, '', 'its question');
    is($got =~ s/ +$//mgr =~ s/\n*\z//r, $printed =~ s/\n*\z//r, 'its answer');
}

$node->stop;
done_testing();
