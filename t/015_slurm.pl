# Slurm's job_submit script, run by a Lua interpreter as slurmctld would run it,
# with tables that stand for Slurm's own and a database that answers.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PerfmodelTest;
use PostgreSQL::Test::Utils;
use Test::More;

my ($lua) = grep { system("$_ -v >/dev/null 2>&1") == 0 } qw(lua lua5.4 lua5.3 lua5.2 lua5.1 luajit);
plan skip_all => 'no Lua interpreter; the package lua5.4 has one' unless $lua;

my $node = new_node('slurm');
$node->start;
fill($node);
# the limit is that of the prediction
my $graph = $node->safe_psql('postgres', 'SELECT name FROM perfmodel.graph ORDER BY params DESC, graph_id LIMIT 1');
my $minutes = $node->safe_psql('postgres', qq{SELECT ceil(10 + 2000000 * coalesce(p.step_ms_high, 1.5 * p.step_ms)::numeric / 60000)
    FROM perfmodel.predict(perfmodel.find_graph('$graph'), 'T4', 8, 'amp', level => 0.8) AS p});
cmp_ok($minutes, '>', 10, 'a job of some minutes');

my $tools = "$FindBin::RealBin/../tools/slurm";
my $dir = PostgreSQL::Test::Utils::tempdir();
# a job per line: a time limit or -, other fields of the job in braces, and the comment; prints the limit afterwards, what the user is told, and the status
append_to_file("$dir/slurmctld.lua", <<'LUA');
slurm = {SUCCESS = 0, ERROR = -1}
function slurm.log_user(format, ...) said = string.format(format, ...) end
slurm.log_info = slurm.log_user
dofile(arg[1])
for line in io.lines() do
    local limit, fields, comment = line:match("^(%S+) ?({?[^}]*}?) ?(.*)$")
    if not fields:match("^{") then fields, comment = "", line:match("^%S+ ?(.*)$") end
    local job = {comment = comment ~= "" and comment or nil, time_limit = limit == "-" and 0xfffffffe or tonumber(limit), min_nodes = 0xfffffffe, num_tasks = 0xfffffffe, ntasks_per_node = 0xfffe}
    for name, value in fields:gmatch("([%w_]+)=([^;}]+)") do job[name] = tonumber(value) or value end
    said = "nothing"
    local status = slurm_job_submit(job, {}, 1000)
    print(string.format("%d|%s|%s", status, job.time_limit == 0xfffffffe and "none" or string.format("%d", job.time_limit), said))
end
print(slurm_job_modify({}, {}, {}, 1000))
LUA

sub submit
{
    my ($ask, @lines) = @_;
    my ($out, $err) = ('', '');
    local $ENV{PERFMODEL_TIME_LIMIT} = $ask;
    local @ENV{qw(PGHOST PGPORT PGDATABASE)} = ($node->host, $node->port, 'postgres');
    my $in = join("\n", @lines) . "\n";
    IPC::Run::run([ $lua, "$dir/slurmctld.lua", "$tools/job_submit.lua" ], '<', \$in, '>', \$out, '2>', \$err);
    is($err, '', 'no errors');
    return split /\n/, $out;
}

my $question = "perfmodel:graph=$graph,gpu=T4,batch=8,dtype=amp,steps=2000000";
my @said = submit("$tools/time_limit.sh",
    "- $question",
    "60 $question",
    '-',
    '- a comment of somebody',
    '- perfmodel:graph=no_such_net,gpu=T4,batch=8,steps=1',
    "- perfmodel:graph=$graph,gpu=no such,batch=8,steps=1",
    "- perfmodel:graph=$graph,gpu=T4,batch=8,steps=0",
    "- perfmodel:graph=$graph,gpu=T4,batch=eight,steps=1",
    "- perfmodel:graph='; DROP TABLE perfmodel.graph; --,gpu=T4,batch=8,steps=1",
    "- perfmodel:graph=\$(touch $dir/shell),gpu=`touch $dir/shell`,batch=8,steps=1",
    "- perfmodel:'; touch $dir/shell; '",
    "- perfmodel:graph=$graph,gpu=T4,batch=8",
    "- perfmodel:graph=$graph,gpu=T4,batch=8,steps=1e18");
is($said[0], "0|$minutes|perfmodel: time limit $minutes minutes; 9 of 10 such jobs need less", 'a limit is set');
is($said[1], '0|60|nothing', 'a limit of the user stays');
is($said[2], '0|none|nothing', 'no comment');
is($said[3], '0|none|nothing', 'another comment');
is($said[4], '0|none|perfmodel: no time limit is set: unknown graph "no_such_net"', 'an unknown graph');
like($said[5], qr/^0\|none\|perfmodel: no time limit is set: .*no such/, 'an unknown GPU');
is($said[6], '0|none|perfmodel: no time limit is set: steps must be above 0', 'no steps');
like($said[7], qr/^0\|none\|perfmodel: no time limit is set: /, 'a batch that is none');
like($said[$_], qr/^0\|none\|perfmodel: no time limit is set: /, 'words of the user are neither SQL nor shell') for 8 .. 10;
ok(!-e "$dir/shell", 'and ran nothing');
is($node->safe_psql('postgres', "SELECT count(*) FROM perfmodel.graph WHERE name = '$graph'"), '1', 'tables are there');
is($said[11], '0|none|perfmodel: no time limit is set: steps is missing', 'steps are not named');
like($said[12], qr/^0\|none\|perfmodel: no time limit is set: 1e18 steps take \d+ minutes, and a time limit is at most a year/, 'more than a year');
is($said[13], '0', 'a change of a job is let through');

# several GPUs, as the comment says, or the job
sub minutes_of
{
    my ($arguments) = @_;
    return $node->safe_psql('postgres', qq{SELECT ceil(10 + 2000000 * coalesce(p.step_ms_high, 1.5 * p.step_ms)::numeric / 60000)
        FROM perfmodel.predict(perfmodel.find_graph('$graph'), 'T4', 8, 'amp', level => 0.8, $arguments) AS p});
}
my ($four, $four_apart, $adamw) = map { minutes_of($_) } 'world_size => 4', 'world_size => 4, nodes => 4', "optimizer => 'adamw', layout => 'nhwc', framework => 'pytorch 2.1'";
isnt($four, $minutes, 'four GPUs need another time');
isnt($four_apart, $four, 'on four nodes, too');
isnt($adamw, $minutes, 'so does another optimizer');
my $less = '9 of 10 such jobs need less';
my @several = (
    [ '', ',gpu_count=4', $four, '' ],
    [ '', ',world_size=4,nodes=4', $four_apart, '' ],
    [ '', ',optimizer=adamw,layout=nhwc,framework=pytorch 2.1', $adamw, '' ],
    [ '{tres_per_job=gres:gpu:t4:4} ', '', $four, ' (on 4 GPUs)' ],
    [ '{tres_per_job=gres/gpu=4} ', '', $four, ' (on 4 GPUs)' ],
    [ '{tres_per_node=license:x:9,gres/gpu:4} ', '', $four, ' (on 4 GPUs)' ],
    [ '{gres=gpu:t4;min_nodes=4} ', '', $four_apart, ' (on 4 GPUs of 4 nodes)' ],
    [ '{tres_per_node=gres:gpu:1;min_nodes=4} ', ',nodes=1', $four, ' (on 4 GPUs)' ],
    [ '{tres_per_task=gres:gpu:2;num_tasks=2} ', '', $four, ' (on 4 GPUs)' ],
    [ '{tres_per_task=gres:gpu;ntasks_per_node=1;min_nodes=4} ', '', $four_apart, ' (on 4 GPUs of 4 nodes)' ],
    [ '{tres_per_node=gres:gpu:8} ', ', gpu_count=4', $four, '' ],
    [ '{tres_per_node=gres:gpu:1} ', '', $minutes, '' ],
    [ '{tres_per_node=gres:mic:4,gres:gpus:4;min_nodes=2} ', '', $minutes, '' ]);
@said = submit("$tools/time_limit.sh", map { "- $_->[0]$question$_->[1]" } @several);
is($said[$_], "0|$several[$_][2]|perfmodel: time limit $several[$_][2] minutes; $less$several[$_][3]", "$several[$_][0]$several[$_][1]") for 0 .. $#several;

# what is wrong with the words is said: one that is not known would otherwise be left out
@said = submit("$tools/time_limit.sh",
    "- perfmodel:graph=$graph,gpu=T4,batch=8,Dtype=amp,steps=1",
    "- $question,steps=4",
    "- $question,gpu_count=2,world_size=4",
    "- $question,amp",
    "- perfmodel:graph=$graph,gpu=T4,steps=1",
    "- $question,gpu_count=four",
    "- $question,gpu_count=0",
    "- $question,gpu_count=2,nodes=4",
    "- $question,optimizer=lion");
my $words = 'graph, gpu, batch, steps, dtype, layout, optimizer, framework, gpu_count (or world_size), nodes and cluster';
my @wrong = (
    qq{unknown word "Dtype"; known are $words}, 'steps is given twice', 'gpu_count is given twice', qq{"amp" is not a word with a value; known words are $words}, 'batch is missing',
    'gpu_count must be a whole number from 1 on, not "four"', 'gpu_count must be a whole number from 1 on, not "0"', 'nodes must be between 1 and world_size (2), not 4', 'unknown optimizer "lion"');
is($said[$_], "0|none|perfmodel: no time limit is set: $wrong[$_]", $wrong[$_]) for 0 .. $#wrong;

# no database, no script: the job is submitted as it is
@said = submit("$dir/no_such.sh", "- $question");
like($said[0], qr/^0\|none\|perfmodel: no time limit is set: /, 'no script');
$node->stop;
@said = submit("$tools/time_limit.sh", "- $question");
like($said[0], qr/^0\|none\|perfmodel: no time limit is set: /, 'no server');

done_testing();
