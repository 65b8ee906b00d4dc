#!/bin/sh
# Two commands on a fresh Debian: makes bare roots of a suite and runs make demo
# and make check in them, as root and as an ordinary user.
#
#   test/fresh.sh SUITE [CASE...] [with PACKAGE...]
#
#   test/fresh.sh bookworm
#   test/fresh.sh trixie user spaces
#   test/fresh.sh sid demo with libatlas-base-dev
#
# SUITE is bookworm, trixie, sid or another that the mirror has; PACKAGEs are
# there before anything is run. Cases, all of them when none is named; each has
# a root of its own, where nothing but make is installed:
#
#   demo       make demo as root
#   root       make demo and make check as root
#   user       a user whom nobody else may read: each command names what is missing;
#              with exactly that installed, make demo and make check
#   blas       with libblas-dev, which has a cblas.h of its own: make demo
#   lapack     with liblapack-dev, libopenblas-dev, and not OpenBLAS selected: make demo
#   git        a clone that belongs to a user, with git: make demo as root and as the user
#   cluster    with another server running on its port: make demo leaves it alone
#   spaces     a path with spaces: make demo as root, and make as a user
#   server     as root, what another release of PostgreSQL or of the compiler can break: the build and
#              the tests that run on a server; skipped while the suite's own packages do not fit together
#   planner    perfmodel_planner with HiGHS, where the suite has it, and with Clp: unit tests and regression
#
# Prints a line for each command, "ok - ..." or "not ok - ..." with the end of
# its output, and "N passed, N failed" in the end. Needs root, and a machine
# that lets it make namespaces, mount and chroot; where it does not, one line
# says so and nothing has failed. CACHE (/var/cache/perfmodel-fresh) keeps the
# bare root of a suite for a week, and packages; SECONDS_EACH (3600) is what a
# command may take. The mirror is the one that apt has here.
set -eu
. "$(dirname "$0")/lib.sh"

usage() { sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ $# -gt 0 ] || usage
suite=$1
shift
cases=
while [ $# -gt 0 ] && [ "$1" != with ]; do
    case $1 in
    demo | root | user | blas | lapack | git | cluster | spaces | server | planner) cases="$cases $1" ;;
    *) usage ;;
    esac
    shift
done
[ $# -eq 0 ] || shift
packages=$*
cases=${cases:-root user blas lapack git cluster spaces planner}
cache=${CACHE:-/var/cache/perfmodel-fresh}
passed=0
failed=0

skip() {
    echo "skipped: fresh $suite: $*"
    exit 0
}

# ---- a root, and commands in it ----

[ "$(id -u)" = 0 ] || skip "only root may make a root of Debian and enter it"
base=$(mktemp -d /tmp/perfmodel-fresh.XXXXXX)
trap 'rm -rf --one-file-system "$base"' EXIT
trap 'exit 130' INT TERM HUP
chmod 755 "$base"
log=$base/log
unshare --mount --pid --fork --kill-child --propagation private sh -c 'mkdir "$1" && mount -t proc proc "$1" && chroot / true' sh "$base/proc" \
    >"$log" 2>&1 || skip "namespaces, mount and chroot are not allowed here: $(tail -1 "$log")"
if ! command -v mmdebstrap >/dev/null; then
    install_packages mmdebstrap >/dev/null 2>&1 || skip "mmdebstrap is not there and cannot be installed"
fi
mkdir -p "$cache/$suite"
exec 9>"$cache/$suite/lock"
flock -w 3600 9 || true

# Where apt gets Debian from here, security updates aside.
mirror() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -1
}

# The bare root as an archive. A mirror may stand still: its date does not matter.
tarball=$cache/$suite/root.tar
if [ -z "$(find "$tarball" -mtime -7 2>/dev/null)" ]; then
    timeout 900 mmdebstrap --quiet --format=tar --mode=root --variant=minbase --include=make --aptopt='Acquire::Check-Valid-Until "false"' \
        "$suite" "$tarball.new" "$(mirror)" >"$log" 2>&1 9>&- || skip "mmdebstrap makes no root: $(grep -m1 -E '^E:|error' "$log" || tail -1 "$log")"
    mv "$tarball.new" "$tarball"
fi

# A new root in $fresh, with the tree in the folder, which belongs to the user.
new_root() { # user, folder, packages
    user=$1 folder=$2
    shift 2
    rm -rf --one-file-system "$base/root"
    fresh=$base/root
    mkdir -p "$fresh"
    tar -C "$fresh" -xf "$tarball"
    mkdir -p "$cache/$suite/archives/partial"
    # shellcheck disable=SC2086
    install_in_root $packages "$@"
    enter root / useradd --create-home --shell /bin/sh somebody
    chmod 700 "$fresh/root" "$fresh/home/somebody"
    mkdir -p "$fresh$folder"
    tree_files | tar -C "$root" --null -T - -cf - | tar -C "$fresh$folder" -xf -
    chroot "$fresh" chown -R "$user:" "$folder"
}

# Run a command in the root as a user, in a folder; all that it has started ends with it.
enter() { # user, folder, command
    timeout -k 10 "${SECONDS_EACH:-3600}" unshare --mount --pid --fork --kill-child --propagation private sh -c '
        fresh=$1 archives=$2 user=$3 folder=$4
        shift 4
        mount --rbind /dev "$fresh/dev"
        mount -t proc proc "$fresh/proc"
        mount --bind "$archives" "$fresh/var/cache/apt/archives"
        home=/root; [ "$user" = root ] || home=/home/$user
        # this shell stays the first process, which takes leave of those whose parents have ended
        chroot "$fresh" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=$home LANG=C.UTF-8 \
            ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} \
            runuser -u "$user" -- sh -c "cd \"\$0\" && exec \"\$@\"" "$folder" "$@"
        exit $?' \
        sh "$fresh" "$cache/$suite/archives" "$@" </dev/null 9>&-
}

install_in_root() {
    [ $# -gt 0 ] || return 0
    enter root / sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive exec apt-get install -y -qq --no-install-recommends "$@"' sh "$@" \
        >"$log" 2>&1 || { tail -5 "$log" >&2; failed_to "cannot install $* in the root of $suite"; }
}

# One line of outcome of a command that must end well.
try() { # what, user, folder, command
    what="$suite $case: $1"
    shift
    started=$(date +%s)
    rc=0
    enter "$@" >"$log" 2>&1 || rc=$?
    took=$(($(date +%s) - started))
    said=$(grep -xE '[0-9]+ passed, [0-9]+ failed' "$log" | tail -1)
    if [ $rc = 0 ]; then
        passed=$((passed + 1))
        echo "ok - $what (${said:+$said; }$took s)"
    else
        failed=$((failed + 1))
        echo "not ok - $what (${said:+$said; }exit status $rc, $took s)"
        { grep -E '^not ok|[.][.][.] (FAILED|FAIL$|ERROR$)|Error: |^make.*[*]{3}' "$log" | head -20; grep -A40 -m1 '^diff ' "$log" || true; tail -25 "$log"; } | sed 's/^/    /'
    fi
}

# ---- the cases ----

tree=/home/somebody/perfmodel

case_demo() {
    new_root root /root/perfmodel
    try "make demo as root" root /root/perfmodel make demo
}

case_root() {
    case_demo
    try "make check as root" root /root/perfmodel make check
}

# The sentence must name all packages at once.
case_user() {
    new_root somebody $tree
    try "make demo as a user names what is missing" somebody $tree \
        sh -c 'make demo 2>/tmp/said && exit 1; grep -o "sudo apt-get install .*" /tmp/said'
    named=$(sed -n 's/.*sudo apt-get install //p' "$fresh/tmp/said")
    try "what it named can be installed" root / \
        sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends '"$named"
    try "make demo as a user" somebody $tree make demo
    # after the demo there may be nothing that only the tests need
    if ! enter somebody $tree sh -c '. "$0" && [ -z "$(missing_packages tests)" ]' test/lib.sh; then
        try "make check as a user names what is missing" somebody $tree \
            sh -c 'make check 2>/tmp/said && exit 1; grep -o "sudo apt-get install .*" /tmp/said'
        named=$(sed -n 's/.*sudo apt-get install //p' "$fresh/tmp/said")
        install_in_root $named
    fi
    try "make check as a user" somebody $tree make check
}

case_blas() {
    new_root root /root/perfmodel libblas-dev
    try "make demo as root" root /root/perfmodel make demo
}

# The headers and the libraries that the system's alternatives show are those of another BLAS.
case_lapack() {
    new_root somebody $tree gcc libc6-dev liblapack-dev libopenblas-dev
    enter root / sh -c 'for name in $(update-alternatives --get-selections | grep -E "^(cblas|lib(blas|lapack))" | cut -d" " -f1); do
        other=$(update-alternatives --list "$name" | grep -v openblas | head -1)
        [ -z "$other" ] || update-alternatives --quiet --set "$name" "$other"
    done
    echo "#include <cblas.h>" | cc -E - | grep -q openblas_get_config && exit 1 || exit 0' || failed_to "another BLAS could not be selected"
    try "make demo as root" root $tree make demo
}

case_git() {
    new_root somebody $tree git
    enter somebody $tree sh -c 'git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm a && echo left >left.o && echo new >new'
    try "make demo as root" root $tree make demo
    try "make demo as a user" somebody $tree make demo
}

case_cluster() {
    new_root root /root/perfmodel postgresql
    # everything in one command: the server ends with it
    try "make demo as root, and the other server is as it was" root /root/perfmodel sh -c '
        version=$(ls /etc/postgresql)
        pg_ctlcluster "$version" main start
        ask() { runuser -u postgres -- psql -p "$(pg_lsclusters -h | awk "{ print \$3 }")" -XAtc "$1"; }
        state() { pg_lsclusters -h; ask "SELECT datname FROM pg_database ORDER BY 1"; ask "SELECT rolname FROM pg_roles ORDER BY 1"; ls -R /etc/postgresql; }
        state >/tmp/before && make demo && state >/tmp/after && diff /tmp/before /tmp/after && grep online /tmp/after'
}

case_spaces() {
    folder="/home/somebody/my code/perf model"
    new_root somebody "$folder"
    try "make demo as root" root "$folder" make demo
    try "make demo as a user" somebody "$folder" make demo
    try "make and make clean as a user" somebody "$folder" sh -c 'make -s && ls perfmodel.so && make -s clean && [ ! -e perfmodel.so ]'
}

# make check has these tests, too: all cases do without this one.
case_server() {
    new_root root /root/perfmodel
    if ! enter root /root/perfmodel sh -c '. "$0" && need_packages tests' test/lib.sh >"$log" 2>&1 &&
        grep -qE 'unmet dependencies|held broken packages|Failed to fetch|Unable to fetch' "$log"; then
        echo "skipped: the packages of $suite cannot be installed: $(grep -m1 -E '^E: |Failed' "$log")"
        return
    fi
    try "build and tests on $(enter root / pg_config --version 2>/dev/null)" root /root/perfmodel test/check.sh server
}

# Each library alone, so that the one that is asked for is the one that is there.
case_planner() {
    for package in libhighs-dev coinor-libclp-dev; do
        new_root root /root/perfmodel g++
        if ! enter root / apt-cache show $package >/dev/null 2>&1; then
            echo "skipped: $suite has no $package"
            continue
        fi
        install_in_root $package
        try "perfmodel_planner with $package" root /root/perfmodel env PLANNER=1 test/private.sh sh -c '
            psql -XAtqc "CREATE EXTENSION perfmodel_planner" -c "SELECT perfmodel.planner_library()" && make -s -C planner unit && make -C planner installcheck'
        grep -E '^(HiGHS|Clp) [0-9.]+$' "$log" || true
    done
}

for case in $cases; do
    "case_$case"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
