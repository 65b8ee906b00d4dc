#!/bin/sh
# What perfmodel needs from the system. Each need is checked by what it is: a
# program that compiles and links, a command, a file. The name of a package says
# little: several packages have a cblas.h, only OpenBLAS's is of use here.
#
#   src/needs.sh build      what building lacks: lines "PACKAGE what it is for",
#                           PACKAGE as Debian calls it; nothing when all is there
#   src/needs.sh sentence   the same in one sentence, with the command that installs it
#   src/needs.sh server     what a private server lacks besides (make demo)
#   src/needs.sh tests      what the tests lack besides (make check)
#   src/needs.sh openblas   the flags that compile and link with OpenBLAS;
#                           exits with 1 when there is none
#   src/needs.sh planner    what perfmodel_planner lacks besides
#   src/needs.sh lp_library the solver that it is built with: clp or highs
#
# In the environment: CC, the compiler; PG_CONFIG; PM_OPENBLAS, what "openblas"
# has answered already.
set -eu

pg_config=${PG_CONFIG:-pg_config}
pg() { "$pg_config" "$@" 2>/dev/null || true; }

# The compiler: PGXS takes the one that the server was built with, without options.
compiler=${CC:-$(pg --cc)}
compiler=${compiler%% *}
compiler=${compiler:-cc}

probe=
trap '[ -z "$probe" ] || rm -rf "$probe"' EXIT
trap 'exit 130' INT TERM HUP

# Whether a program of these lines compiles and links with these flags.
links() { # lines, flags
    [ -n "$probe" ] || probe=$(mktemp -d)
    printf '%b' "$1" >"$probe/probe.c"
    shift
    "$compiler" -Werror=implicit-function-declaration -o "$probe/probe" "$probe/probe.c" "$@" >/dev/null 2>&1
}

# The same in C++.
builds_cxx() { # lines, flags
    [ -n "$probe" ] || probe=$(mktemp -d)
    printf '%b' "$1" >"$probe/probe.cc"
    shift
    "${CXX:-g++}" -std=c++14 -o "$probe/probe" "$probe/probe.cc" "$@" >/dev/null 2>&1
}

# A function that only OpenBLAS has, a product, and a solver of LAPACK.
uses_openblas='#include <cblas.h>\nvoid dposv_(void);\nint main(void) { cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1); dposv_(); return openblas_get_config() == 0; }\n'

# The static library goes first: it cannot be switched by the system's
# alternatives. Debian has a folder for each way OpenBLAS is built (with its own
# threads, with OpenMP, without threads), and one of the same name with its
# headers; /usr/include/.../cblas.h may be another BLAS's.
openblas() {
    for name in openblas-pthread/libopenblas.a libopenblas.a; do
        library=$("$compiler" -print-file-name="$name" 2>/dev/null) || continue
        case $library in /*) library=$(realpath "$(dirname "$library")")/libopenblas.a ;; *) continue ;; esac
        for folder in "$(realpath "$library" | sed 's|/lib/\(.*\)/[^/]*$|/include/\1|')" /usr/include/openblas ''; do
            [ -z "$folder" ] || [ -e "$folder/cblas.h" ] || continue
            if links "$uses_openblas" ${folder:+"-I$folder"} "$library" -lm -lpthread; then
                echo ${folder:+"-I$folder"} "$library" -lm -lpthread
                return
            fi
        done
    done
    for folder in "/usr/include/$("$compiler" -print-multiarch 2>/dev/null)/openblas-pthread" /usr/include/openblas ''; do
        [ -z "$folder" ] || [ -e "$folder/cblas.h" ] || continue
        if links "$uses_openblas" ${folder:+"-I$folder"} -lopenblas -lm -lpthread; then
            echo ${folder:+"-I$folder"} -DPM_BLAS_SHARED -lopenblas -lm -lpthread
            return
        fi
    done
    return 1
}

lacks() { echo "$*"; }

version=$(pg --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')

build() {
    command -v "$compiler" >/dev/null || lacks gcc "the compiler $compiler"
    links '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n' || lacks libc6-dev "the headers of the C library"
    [ -n "${PM_OPENBLAS-$(openblas)}" ] || lacks libopenblas-dev "OpenBLAS with its own cblas.h"
    links '#include <protobuf-c/protobuf-c.h>\nint main(void) { return protobuf_c_version() == 0; }\n' -lprotobuf-c ||
        lacks libprotobuf-c-dev "protobuf-c.h and libprotobuf-c"
    protoc-c --version >/dev/null 2>&1 || lacks protobuf-c-compiler "protoc-c"
    if [ ! -e "$(pg --includedir-server)/postgres.h" ] || [ ! -e "$(pg --pgxs)" ]; then
        # of the version that is there, and of the newest where there is none
        lacks "postgresql-server-dev-${version:-all}" "the headers of the PostgreSQL server"
    fi
}

sentence() {
    build | awk '{ packages = packages " " $1; package = $1; sub(/^[^ ]* /, ""); what = what (NR > 1 ? ", " : "") $0 " (package " package ")" }
        END { if (NR) print what ". On Debian: sudo apt-get install" packages }'
}

server() {
    if [ ! -x "$(pg --bindir)/postgres" ] || [ ! -x "$(pg --bindir)/psql" ]; then
        lacks "postgresql${version:+-$version}" "the PostgreSQL server"
    fi
    command -v pg_virtualenv >/dev/null || lacks postgresql-common "pg_virtualenv"
}

tests() {
    command -v prove >/dev/null || lacks perl "prove"
    perl -MIPC::Run -e 1 2>/dev/null || lacks libipc-run-perl "IPC::Run, a module of Perl"
}

# The solver of linear programmes that perfmodel_planner is built with: "clp", "highs", or nothing where neither is there.
lp_library() {
    if builds_cxx '#include <coin/ClpSimplex.hpp>\nint main() { ClpSimplex s; return s.numberRows(); }\n' -lClp -lCoinUtils; then
        echo clp
    elif builds_cxx '#include <Highs.h>\nint main() { Highs h; return h.getNumRow(); }\n' -I/usr/include/highs -lhighs; then
        echo highs
    fi
}

# For perfmodel_planner, which nothing else needs.
planner() {
    command -v "${CXX:-g++}" >/dev/null || lacks g++ "a C++ compiler"
    [ -n "$(lp_library)" ] || lacks "$(lp_package)" "Clp or HiGHS, solvers of linear programmes"
}

# The package of this Debian that has one.
lp_package() {
    if command -v apt-cache >/dev/null && apt-cache show libhighs-dev >/dev/null 2>&1; then echo libhighs-dev; else echo coinor-libclp-dev; fi
}

case ${1:-} in
build | sentence | server | tests | openblas | planner | lp_library) "$1" ;;
*) echo "usage: $0 build|sentence|server|tests|openblas|planner|lp_library" >&2; exit 2 ;;
esac
