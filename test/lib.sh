# Sourced by the scripts that bring their own PostgreSQL server (make check,
# make demo, make bench): packages, a private copy of the tree, a throw-away
# server.  Works as root, who hands over to the user postgres because the
# server refuses root, and as any other user.
#
# After `private_copy`: $work, removed at exit; $work/src, the copy; commands
# run in it by `as_user`.  The server of `with_server` sees what was installed
# into $work/stage and nothing of the system is changed.

unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES || true
unset PGHOST PGHOSTADDR PGPORT PGUSER PGPASSWORD PGDATABASE PGSERVICE PGDATA PGOPTIONS || true
# make hands on DATA=..., which the build would take for a variable of its own
unset DATA
export LC_ALL=C.UTF-8

root=$(cd "$(dirname "$0")/.." && pwd)
failed_to() { echo "$0: $*" >&2; exit 1; }
# The absolute path of a folder of measurements
data_folder() {
    [ -d "$1" ] || failed_to "there is no folder \"$1\"; name the one with the measurements"
    realpath "$1"
}

# The PostgreSQL that was asked for is the first in the path, for all that runs.
if [ -n "${PG_CONFIG:-}" ]; then
    command -v "$PG_CONFIG" >/dev/null || failed_to "PG_CONFIG is $PG_CONFIG, which is not there"
    PATH=$(dirname "$(command -v "$PG_CONFIG")"):$PATH
    unset PG_CONFIG
fi

# ---- packages ----

# Debian packages whose contents are not there, a line each; src/needs.sh says how each is recognised.
missing_packages() {
    command -v make >/dev/null || echo make
    for part in build server "$@"; do
        sh "$root/src/needs.sh" "$part"
    done | cut -d' ' -f1 | sort -u
}

install_packages() {
    echo "installing $*"
    log=$(mktemp)
    if { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; } \
        </dev/null >"$log" 2>&1; then
        rm -f "$log"
    else
        tail -20 "$log" >&2
        rm -f "$log"
        return 1
    fi
}

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

# Install what is missing, or say what it is; "tests" when the tests shall run, too. Once one thing is there the
# lack of another can show, so this asks until nothing is missing or an installation has not helped.
need_packages() {
    before=
    while :; do
        missing=$(missing_packages "$@" | tr '\n' ' ')
        [ -n "$missing" ] || return 0
        can_install || failed_to "some packages are missing; on Debian: sudo apt-get install $missing"
        [ "$missing" != "$before" ] || failed_to "installed, but not found or not usable: $missing"
        before=$missing
        # shellcheck disable=SC2086
        install_packages $missing || failed_to "cannot install $missing"
    done
}

# ---- Python, for tools/: never a condition ----

# A Python with psycopg2, of the user that runs the tests. Debian's modules belong to Debian's Python, which need not
# be the first in the path.
python_with_psycopg2() {
    for python in python3 /usr/bin/python3; do
        ! as_user "$python" -c 'import psycopg2' >/dev/null 2>&1 || { echo "$python"; return; }
    done
    return 1
}

# ---- a copy of the tree ----

# Names of the files that belong to it: tracked, or new and not ignored.
tree_files() {
    if git -C "$root" rev-parse --git-dir >/dev/null 2>&1; then
        (cd "$root" && git ls-files -z --cached --others --exclude-standard |
            xargs -0 -r sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh)
    else
        (cd "$root" && find . -name .git -prune -o -type f ! -name '*.o' ! -name '*.so' ! -path './build/*' -print0)
    fi
}

private_copy() {
    # a directory that both root and the user postgres can reach
    if [ "$(id -u)" = 0 ]; then unset TMPDIR; fi
    case ${TMPDIR:-} in *[[:space:]]*) unset TMPDIR ;; esac # make takes a space for the end of a name
    work=$(mktemp -d "${TMPDIR:-/tmp}/perfmodel.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM HUP
    chmod 755 "$work"
    mkdir "$work/src" "$work/home"
    tree_files | tar -C "$root" --null -T - -cf - | tar -C "$work/src" -xf -
    if [ "$(id -u)" = 0 ]; then chown -R postgres: "$work"; fi
}

as_user() {
    if [ "$(id -u)" = 0 ]; then
        (cd "$work/src" && runuser -u postgres -- env HOME="$work/home" "$@")
    else
        (cd "$work/src" && env HOME="$work/home" "$@")
    fi
}

# Run a command whose output matters only when it fails.
quietly() {
    log=$work/quiet.log
    if ! "$@" >"$log" 2>&1; then
        tail -60 "$log" >&2
        return 1
    fi
}

# The first error of a build, what it came from, and the packages that mend it.
explain_build() {
    first=$(grep -nEm1 ':[0-9]+: .*error|error:|undefined reference|cannot find -l|[*][*][*]|not found' "$1" | cut -d: -f1)
    if [ -n "$first" ]; then
        echo "the first error of the build:"
        tail -n "+$first" "$1" | head -6 | sed 's/^/    /'
    else
        tail -20 "$1"
    fi
    missing=$(missing_packages | tr '\n' ' ')
    [ -z "$missing" ] || echo "it lacks packages; on Debian: sudo apt-get install $missing"
}

# Build with any further arguments for make, and install into $work/stage.
build_and_stage() {
    log=$work/build.log
    if ! as_user make -s -j"$(nproc)" all "$@" >"$log" 2>&1; then
        explain_build "$log" >&2
        failed_to "the build failed"
    fi
    quietly as_user make -s install DESTDIR="$work/stage" || failed_to "the staged installation failed"
}

# perfmodel_planner needs a library that nothing else does: what is missing for it, in words; empty: it can be built.
planner_lacks() { sh "$root/src/needs.sh" planner | sed 's/^\([^ ]*\) \(.*\)/\2 (package \1)/' | paste -sd, | sed 's/,/, /g'; }

# The same for perfmodel_planner, with any further arguments for make.
build_and_stage_planner() {
    log=$work/planner.log
    if ! as_user make -s -C planner all "$@" >"$log" 2>&1; then
        explain_build "$log" >&2
        return 1
    fi
    quietly as_user make -s -C planner install DESTDIR="$work/stage"
}

# ---- a server ----

# What a server must be told to find what was installed into $work/stage; no spaces in it.
server_settings() {
    if [ "$version" -ge 18 ]; then
        echo "extension_control_path=$work/stage$(pg_config --sharedir):\$system"
        echo "dynamic_library_path=$work/stage$(pg_config --pkglibdir):\$libdir"
    else # Debian's servers alone have it
        echo "extension_destdir=$work/stage"
    fi
}

# Run a command with a fresh server. The port is drawn, so that several copies
# can run at once; when it is taken after all, the server does not start and
# another one is drawn.
with_server() {
    version=$(pg_config --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
    settings=$(server_settings)
    for _ in 1 2 3 4 5; do
        port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
        rm -f "$work/started"
        rc=0
        # shellcheck disable=SC2046
        { as_user env SERVER_SETTINGS="$settings" EXTDEST="$work/stage" PGPORT=$port pg_virtualenv -v "$version" \
            $(echo "$settings" | sed 's/^/-o /') sh -c 'touch "$0"; exec "$@" >&3 3>&-' "$work/started" "$@" \
            >"$work/server.out"; } 3>&1 || rc=$?
        [ ! -e "$work/started" ] || return $rc
    done
    cat "$work/server.out" >&2
    failed_to "a private server could not be started"
}
