
cd /tmp/w_mut
. test/lib.sh
root=/tmp/w_mut; work=/tmp/mut_sql
trap - EXIT
touch /tmp/mut_sql/src/sql/install/*.sql
as_user make -s all >$work/build.log 2>&1 || { tail -20 $work/build.log; exit 1; }
as_user make -s install DESTDIR=$work/stage >$work/inst.log 2>&1 || { tail $work/inst.log; exit 1; }
rm -rf $work/src/regression.diffs $work/src/results
with_server make installcheck TAP_TESTS= ISOLATION= REGRESS="setup install gpu graph graph_errors onnx profile op_profile options train predict infer ask predict_many explain scaling job convergence change memory memory_kinds evaluate leaderboard pretrained train_async recalibrate cards probes transfer trained warm_start drift plot report nightly grafana dashboards job_names queue slurm privileges row_security numerics correction drop_extension" > /tmp/mut/r_g9.out 2>&1
