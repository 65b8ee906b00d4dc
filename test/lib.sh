# Sourced by the scripts that bring their own PostgreSQL server (make check,
# make demo, make bench): packages, a private copy of the tree, a throw-away
# server.  Works as root, who hands over to the user postgres because the
# server refuses root, and as any other user.
#
# After `private_copy`: $work, removed at exit; $work/src, the copy; commands
# run in it by `as_user`.  The server of `with_server` sees what was installed
# into $work/stage and nothing of the system is changed.

unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES || true
unset PGHOST PGHOSTADDR PGPORT PGUSER PGPASSWORD PGDATABASE PGSERVICE PGDATA PGOPTIONS PG_CONFIG || true
# make hands on DATA=..., which the build would take for a variable of its own
unset DATA
export LC_ALL=C.UTF-8

root=$(cd "$(dirname "$0")/.." && pwd)
failed_to() { echo "$0: $*" >&2; exit 1; }

# ---- packages ----

c_finds() { echo "$1" | cc -E - >/dev/null 2>&1; }

# Debian packages whose contents are not there.
missing_packages() {
    command -v make >/dev/null || echo make
    command -v cc >/dev/null || echo gcc
    c_finds '#include <stdio.h>' || echo libc6-dev
    c_finds '#include <cblas.h>' || echo libopenblas-dev
    c_finds '#include <protobuf-c/protobuf-c.h>' || echo libprotobuf-c-dev
    command -v protoc-c >/dev/null || echo protobuf-c-compiler
    [ -e "$(pg_config --includedir-server 2>/dev/null)/postgres.h" ] || echo postgresql-server-dev-all
    [ -x "$(pg_config --bindir 2>/dev/null)/postgres" ] || echo postgresql
    command -v pg_virtualenv >/dev/null || echo postgresql-common
    perl -MIPC::Run -e 1 2>/dev/null || echo libipc-run-perl
    # tools/ write to the database with it; their tests need it where there is a Python at all
    [ ! -x /usr/bin/python3 ] || /usr/bin/python3 -c 'import psycopg2' 2>/dev/null || echo python3-psycopg2
}

need_packages() {
    missing=$(missing_packages | sort -u | tr '\n' ' ')
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "Some packages are missing. On Debian: sudo apt-get install $missing" >&2
        exit 1
    fi
    echo "installing $missing"
    # shellcheck disable=SC2086
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } \
        </dev/null >/dev/null || failed_to "cannot install $missing"
    missing=$(missing_packages | tr '\n' ' ')
    [ -z "$missing" ] || failed_to "still missing after installation: $missing"
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

# Build with any further arguments for make, and install into $work/stage.
build_and_stage() {
    quietly as_user make -s -j2 all "$@" || failed_to "the build failed"
    quietly as_user make -s install DESTDIR="$work/stage" || failed_to "the staged installation failed"
}

# ---- a server ----

# Run a command with a fresh server. The port is drawn, so that several copies
# can run at once; when it is taken after all, the server does not start and
# another one is drawn.
with_server() {
    version=$(pg_config --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
    for _ in 1 2 3 4 5; do
        port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
        rm -f "$work/started"
        rc=0
        { as_user env EXTDEST="$work/stage" PGPORT=$port pg_virtualenv -v "$version" \
            -o "extension_destdir=$work/stage" sh -c 'touch "$0"; exec "$@" >&3 3>&-' "$work/started" "$@" \
            >"$work/server.out"; } 3>&1 || rc=$?
        [ ! -e "$work/started" ] || return $rc
    done
    cat "$work/server.out" >&2
    failed_to "a private server could not be started"
}
