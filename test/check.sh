#!/bin/sh
# make check: everything that is tested, from a clean checkout, as any user.
#
#   test/check.sh          all
#   test/check.sh server   what another release of PostgreSQL can break: the build,
#                          and the tests that run on a server
#
# Ends with "N passed, N failed", counting unit test programs, rules of the
# tree, regression tests, isolation tests and assertions of the TAP tests, and
# what was counted before: PASSED and FAILED in the environment.
set -eu
. "$(dirname "$0")/lib.sh"

what=${1:-all}
case $what in all | server) ;; *) failed_to "what to check is \"server\", or nothing for all, not \"$what\"" ;; esac
passed=${PASSED:-0}
failed=${FAILED:-0}
strict='-Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers -DUSE_ASSERT_CHECKING'

count() { # file, pattern of passed lines, pattern of failed lines
    p=$(grep -cE "$2" "$1" || true)
    f=$(grep -cE "$3" "$1" || true)
    passed=$((passed + p))
    failed=$((failed + f))
}

# Run a command that takes minutes: its lines that grep takes go to the terminal at once, and all of them to a file.
shown() { # file, -E or -vE, pattern, command
    file=$1 how=$2 pattern=$3
    shift 3
    # what ends the subshell has failed
    echo 1 >"$work/status"
    { status=0; "$@" 2>&1 || status=$?; echo $status >"$work/status"; } | tee "$file" | grep --line-buffered "$how" "$pattern" || true
    return "$(cat "$work/status")"
}

# One rule of the tree: a name and a command that holds when it exits with 0.
rule() {
    name=$1
    shift
    if as_user "$@" >"$work/rule.log" 2>&1; then
        passed=$((passed + 1))
        echo "ok - $name"
    else
        failed=$((failed + 1))
        echo "not ok - $name"
        sed 's/^/    /' "$work/rule.log"
    fi
}

# A part of installcheck: its lines of outcome go to the terminal, and when
# something fails so do the differences.
server_tests() { # title, arguments for make
    echo "== $1"
    shift
    log=$work/tests.log
    status=0
    shown "$log" -E '^(test |ok |not ok |t/|# +Failed)' with_server make installcheck "$@" || status=$?
    before=$failed
    count "$log" '^test .*[.][.][.] ok|^ok [0-9]+' '^test .*[.][.][.] FAILED|^not ok [0-9]+'
    if [ $status != 0 ]; then
        [ $failed != $before ] || { failed=$((failed + 1)); tail -60 "$log"; }
        cat "$work"/src/regression.diffs "$work"/src/planner/regression.diffs "$work"/src/output_iso/regression.diffs 2>/dev/null | head -300 || true
    fi
    rm -f "$work/src/regression.diffs" "$work/src/output_iso/regression.diffs"
}

unit_tests() {
    echo "== unit tests of src/core (the first is done when the core is built, in some minutes)"
    shown "$work/unit.log" -vE '^make[^*]*$' as_user make -k -s -j2 -f test/core.mk run || true
    count "$work/unit.log" '^ok - ' '^not ok - |^make.*\*\*\*'
}

rules() {
    echo "== rules of the tree"
    rule "core has no server symbol" test/rules.sh server_symbols
    rule "core includes no server header" test/rules.sh server_headers
    rule "no file of core includes a higher floor" test/rules.sh floors
    rule "no two units include each other" test/rules.sh circles
    rule "no two headers define the same name" test/rules.sh one_meaning
    rule "versions agree" test/rules.sh versions
    rule "the set-up sees what is missing" test/rules.sh needs
    rule "make clean and .gitignore leave the scripts of releases alone" test/rules.sh release_scripts
    rule "no instruction set but the portable one by default" test/rules.sh portable
    rule "no function over 120 lines, no file over 700" test/rules.sh lengths
    rule "rows of triggers are read in one place" test/rules.sh trigger_rows
    rule "every regression test runs" test/rules.sh regression_tests
    rule "scripts parse" test/rules.sh scripts
    rule "benchmarks build" test/rules.sh benchmarks
    rule "the accuracy benchmark reads its rows and no more" test/rules.sh benchmark_rows
}

tools() {
    echo "== tools"
    if python=$(python_with_psycopg2) || python=$(command -v python3); then
        as_user "$python" -m unittest discover -v -s test/tools >"$work/tools.log" 2>&1 || true
        grep -E '[.][.][.] |^(Ran|OK|FAILED)' "$work/tools.log" || cat "$work/tools.log"
        count "$work/tools.log" '[.][.][.] ok$' '[.][.][.] (FAIL|ERROR)$|^ImportError|^ModuleNotFoundError'
    else
        echo "skipped: there is no Python; the packages python3 and python3-psycopg2 have it"
    fi
}

documents() {
    echo "== examples of the documents"
    shown "$work/docs.log" -E '' with_server test/docs.sh || true
    grep -qE '^(ok|not ok) - docs/' "$work/docs.log" || failed=$((failed + 1))
    count "$work/docs.log" '^ok - ' '^not ok - '
}

browser() {
    echo "== a report in a browser"
    as_user mkdir "$work/pictures"
    shown "$work/report.log" -E '' with_server test/report.sh "$work/pictures" || true
    # the pictures stay, to be looked at
    if ls "$work/pictures"/*.png >/dev/null 2>&1 && mkdir -p "$root/build/pictures" 2>/dev/null && cp "$work/pictures"/*.png "$root/build/pictures/" 2>/dev/null; then
        echo "the pages as pictures: build/pictures"
    fi
    count "$work/report.log" '^ok - ' '^not ok - '
}

need_packages tests
private_copy
# the tests of tools/ want a Python with psycopg2; nothing else does
if ! python_with_psycopg2 >/dev/null && can_install; then
    install_packages python3 python3-psycopg2 || true
fi

# so does perfmodel_planner with Clp or HiGHS
if [ -n "$(planner_lacks)" ] && can_install; then
    # shellcheck disable=SC2046
    install_packages $(sh "$root/src/needs.sh" planner | cut -d' ' -f1) || true
fi

# and the test of the script for Slurm with Lua
if ! command -v lua5.4 >/dev/null && can_install; then
    install_packages lua5.4 || true
fi

[ "$what" = server ] || unit_tests

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ] || exit 1
    exit 0
}

echo "== build with -Werror"
if ! (build_and_stage PG_CFLAGS="$strict"); then
    failed=$((failed + 1))
    finish
fi
passed=$((passed + 1))

if [ "$what" != server ]; then
    rules
    tools
    documents
    browser
fi

server_tests "regression" ISOLATION= TAP_TESTS=
server_tests "isolation" REGRESS= TAP_TESTS=
server_tests "crash, replicas, dump, several servers, roles" REGRESS= ISOLATION= PROVE_FLAGS=-v

echo "== perfmodel_planner"
missing=$(planner_lacks)
if [ -n "$missing" ]; then
    echo "skipped: perfmodel_planner needs $missing"
elif build_and_stage_planner PG_CFLAGS="$strict"; then
    passed=$((passed + 1))
    rule "linear programmes against duality" make -s -C planner unit
    server_tests "regression of perfmodel_planner" -C planner
else
    failed=$((failed + 1))
fi

finish
