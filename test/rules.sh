#!/bin/sh
# Rules of the tree that no compiler checks; one argument: which one.
# Runs in the root of a tree that has been built.
set -eu

listed() { make -s -f src/sources.mk "print-$1"; }

server_symbols() {
    # what the core needs from outside must come from libc, libm, pthread, OpenBLAS or protobuf-c
    objects=$(listed CORE_SOURCES | sed 's/[.]c\>/.o/g')
    for object in $objects; do [ -e "$object" ] || { echo "$object is not built"; return 1; }; done
    # shellcheck disable=SC2086
    nm -g --defined-only $objects src/core/import/onnx/onnx.pb-c.o | awk 'NF == 3 { print $3 }' | sort -u >build/defined
    # shellcheck disable=SC2086
    nm -u $objects | awk 'NF == 2 { print $2 }' | sort -u >build/wanted
    comm -13 build/defined build/wanted |
        grep -vE '^(protobuf_c_|cblas_|openblas_|gotoblas_|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__cpu_|pthread_|__.*_chk)' |
        while read -r symbol; do
            if "$(pg_config --bindir)/postgres" --version >/dev/null &&
                nm -D --defined-only "$(pg_config --bindir)/postgres" | grep -qE " $symbol\$"; then
                echo "src/core uses $symbol of the server"
            fi
        done | tee build/found
    [ ! -s build/found ]
}

# "FILE HEADER" for every header of ours that a file of src/core includes.
core_includes() {
    grep -HE '^#include +"' $(listed CORE_SOURCES) $(listed CORE_HEADERS) | grep -v 'pb-c[.]h' |
        sed 's|^src/core/||; s|:#include *"| |; s|".*||'
}

server_headers() {
    status=0
    core_includes >build/includes
    while read -r file header; do
        [ -e "src/core/$header" ] || { echo "src/core/$file includes $header, which is not of src/core"; status=1; }
    done <build/includes
    headers=$(pg_config --includedir-server)
    for name in $(grep -hE '^#include +<' $(listed CORE_SOURCES) $(listed CORE_HEADERS) | sed 's/.*<\(.*\)>.*/\1/' | sort -u); do
        [ ! -e "$headers/$name" ] || { echo "src/core includes $name of the server"; status=1; }
    done
    return $status
}

# The rooms of src/core are floors of a house: what a file includes is of its own room or of a lower one.
floors() {
    core_includes | awk -v rooms="$(listed CORE_ROOMS)" '
        BEGIN { n = split(rooms, room, " "); for (i = 1; i <= n; i++) floor[room[i]] = i }
        function place(path) { sub("/[^/]*$", "", path); return path }
        floor[place($2)] == 0 || floor[place($2)] > floor[place($1)] { print "src/core/" $1 " includes " $2 " of a higher floor"; bad = 1 }
        END { exit bad }'
}

# No two units include each other, straight or round about; a unit is a .c and its .h.
circles() {
    { core_includes
      grep -HE '^#include +"' $(listed PG_SOURCES) $(listed PG_HEADERS) |
          sed 's|^src/pg/||; s|:#include *"| |; s|".*||'; } |
        sed 's|[.][ch]\>||g' | awk '$1 != $2' | sort -u >build/uses
    tsort build/uses >/dev/null 2>build/circles || { sed 's/^tsort: //' build/circles; return 1; }
}

# A type, a macro or a guard has one meaning: two headers that define the same name cannot be included together.
one_meaning() {
    grep -HoE '^(typedef )?(struct|enum|union) [a-z_]+$|^#define [A-Za-z_0-9]+' $(listed CORE_HEADERS) $(listed PG_HEADERS) |
        sed 's/:.* /:/' | sort -u >build/names
    ! cut -d: -f2 build/names | sort | uniq -d | grep -wFf - build/names
}

versions() {
    version=$(sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" perfmodel.control)
    [ -n "$version" ] || { echo "no version in perfmodel.control"; return 1; }
    pretrained=$(sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" perfmodel_pretrained.control)
    [ "$pretrained" = "$version" ] || { echo "perfmodel_pretrained.control has version $pretrained, perfmodel.control $version"; return 1; }
    planner=$(sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" planner/perfmodel_planner.control)
    [ "$planner" = "$version" ] || { echo "perfmodel_planner.control has version $planner, perfmodel.control $version"; return 1; }
    [ -e "planner/sql/perfmodel_planner--$version.sql" ] || { echo "there is no planner/sql/perfmodel_planner--$version.sql"; return 1; }
    others=$(sed -n 's/^ *"version": "\(.*\)".*/\1/p' META.json | grep -vxF -e "$version" -e 1.0.0 || true)
    [ -z "$others" ] || { echo "META.json has version $others, perfmodel.control $version"; return 1; }
    [ ! -e CHANGELOG.md ] || grep -qF "$version" CHANGELOG.md ||
        { echo "CHANGELOG.md does not mention $version"; return 1; }
}

# The set-up knows OpenBLAS from another BLAS, and names all that is missing at once.
needs() {
    found=build/needs
    mkdir -p $found
    echo 'void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);' >$found/cblas.h
    CPATH=$found sh src/needs.sh openblas >/dev/null || { echo "cblas.h of another BLAS hides OpenBLAS"; return 1; }
    # a machine where that cblas.h is the only one, and the reference BLAS the only library
    cat >$found/cc <<'SH'
#!/bin/sh
for word; do
    case $word in -print-*) exit 0 ;; *openblas*) exit 1 ;; esac
done
exec cc "$@"
SH
    chmod +x $found/cc
    [ "$(CC=$found/cc CPATH=$found sh src/needs.sh build | cut -d' ' -f1)" = libopenblas-dev ] ||
        { echo "cblas.h of another BLAS is taken for OpenBLAS's"; return 1; }
    for package in gcc libc6-dev libopenblas-dev libprotobuf-c-dev; do
        CC=$found/nothing sh src/needs.sh build | grep -q "^$package " || { echo "without a compiler $package is not asked for"; return 1; }
    done
}

# Scripts of releases are files of the tree: git sees them, make clean leaves them alone. Those of the pretrained
# extension, 25,000 lines each, are all assembled.
release_scripts() {
    made=$(make -s print-DATA_built | tr ' ' '\n' | sort)
    hidden=$(sed -n 's,^/\(sql/.*\),\1,p' .gitignore | sort)
    [ "$hidden" = "$(echo "$made" | sed 's,^sql/perfmodel_pretrained--.*,sql/perfmodel_pretrained--*.sql,' | sort -u)" ] ||
        { echo ".gitignore must name, of sql/, what make assembles and nothing else:"; echo "$made"; return 1; }
    touch sql/perfmodel--0.0.1.sql sql/perfmodel--0.0.1--0.0.2.sql
    removed=$(make -n clean | tr ' ' '\n' | sed 's,^\./,,' | grep '^sql/' | sort -u)
    rm sql/perfmodel--0.0.1.sql sql/perfmodel--0.0.1--0.0.2.sql
    [ "$removed" = "$made" ] || { echo "make clean removes:"; echo "$removed"; return 1; }
}

portable() {
    ! grep -nE -e '-march=|-mtune=|-mavx|-Ofast|-ffast-math|-ffinite-math' Makefile test/core.mk | grep -v '#'
}

lengths() {
    long=$(for f in $(listed CORE_SOURCES) $(listed PG_SOURCES); do
        # a table of data ends in "};" and may be as long as it is
        awk -v f="$f" '/^\{/ { s = NR } /^\}$/ { if (s && NR - s > 120) print f ":" s ": " NR - s " lines"; s = 0 }' "$f"
    done)
    # shellcheck disable=SC2046
    files=$(wc -l $(listed CORE_SOURCES) $(listed CORE_HEADERS) $(listed PG_SOURCES) $(listed PG_HEADERS) \
        test/core/*.[ch] planner/*/*.[ch]* bench/*.c bench/*/*.[ch] tools/perfmodel_tools/*.py sql/install/*.sql |
        awk '$2 != "total" && $1 > 700 { print $2 ": " $1 " lines" }')
    [ -z "$long$files" ] || { echo "$long$files"; return 1; }
}

scripts() {
    for f in .ci/run src/*.sh demo/*.sh test/*.sh tools/*.sh bench/*.sh bench/*/*.sh; do
        [ ! -e "$f" ] || sh -n "$f"
    done
}

# Every program and helper of bench/; nobody runs them for weeks.
benchmarks() {
    for name in predict mdot_epochs; do
        CFLAGS='-O0 -Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers -Wno-unused-function -Wno-unused-variable' \
            bench/build.sh "bench/$name.c" "build/$name"
    done
    make -s -f bench/accuracy/cell.mk build/accuracy/cell
}

# Whatever memory the rows of the accuracy benchmark are read into, they are the same.
benchmark_rows() {
    make -s -f bench/accuracy/cell.mk build/accuracy/cell
    gzip -dc data/graphs.ndjson.gz >build/graphs.ndjson
    for fill in 0 85; do
        rm -rf "build/rows.$fill"
        mkdir -p "build/rows.$fill"
        MALLOC_PERTURB_=$fill build/accuracy/cell graphs=build/graphs.ndjson rows=data/profiles.csv kind=roofline label=roofline set=data split=structure \
            fold=0 "out=build/rows.$fill" >/dev/null
        grep -hv '^#' "build/rows.$fill"/*.csv >"build/rows.$fill.csv"
    done
    cmp build/rows.0.csv build/rows.85.csv
}

# A regression test that the Makefile does not name would never run.
regression_tests() {
    named=" $(make -s -p -n -f Makefile 2>/dev/null | sed -n 's/^REGRESS = //p') "
    for f in $(git ls-files 'sql/*.sql' 2>/dev/null || ls sql/*.sql); do
        name=$(basename "$f" .sql)
        case $f in sql/*/* | sql/perfmodel*) continue ;; esac
        case $named in *" $name "*) ;; *) echo "$f is not in REGRESS of the Makefile"; return 1 ;; esac
    done
}

# Anybody's table can have a trigger: only src/pg/triggers.c, which asks for the types of columns, reads the rows of one.
trigger_rows() {
    ! grep -nE 'tg_trigtuple|tg_newtuple|tg_trigslot|tg_newslot|tg_oldtable|tg_newtable' $(listed PG_SOURCES) $(listed PG_HEADERS) |
        grep -v '^src/pg/triggers[.]c:'
}

mkdir -p build
"${1:?name one of the rules above}"
