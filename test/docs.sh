#!/bin/sh
# The examples of README.md and of the pages in docs/ run exactly as printed,
# each page in a fresh database "mydb", and print what the page says.
#
#   test/private.sh test/docs.sh [PAGE...]
#
# Blocks marked sql go to psql, blocks marked sh to a shell, in the order of
# the page, each in a session of its own. A block marked text right after one
# is its whole output, without command tags such as CREATE TABLE; blanks at the
# end of a line do not count. Where the page prints no output, any will do
# except an error. A block is left out after a line "<!-- not run: REASON -->".
# With UPDATE=FOLDER, the pages are written into that folder with the outputs as
# they are now.
#
# Runs in the root of the tree against the server of the PG* variables, and
# prints one line for each page.
set -u

out=${TMPDIR:-/tmp}/perfmodel_docs.$$
trap 'rm -rf "$out"' EXIT
export PSQLRC=/dev/null PGTZ=UTC PGDATABASE=postgres PGCLIENTENCODING=UTF8
status=0

# Without blanks at the ends of lines, nor empty lines at the end.
trimmed() { sed 's/[ \t]*$//' "$1" | awk 'NF { while (held) { print ""; held-- } print; next } { held++ }'; }

run_block() { # file
    case $1 in
        *.sql) psql -X -q -d mydb <"$1" ;;
        *) sh -eu "$1" </dev/null ;;
    esac
}

fresh_database() {
    psql -X -q -c 'DROP DATABASE IF EXISTS mydb WITH (FORCE)' -c "CREATE DATABASE mydb ENCODING 'UTF8' TEMPLATE template0" >/dev/null 2>&1
}

# One example; says what is wrong with it.
check_example() { # page, path without its ending
    file=$(ls "$2.sql" "$2.sh" 2>/dev/null)
    line=$(cat "$2.line")
    run_block "$file" >"$2.got" 2>&1
    rc=$?
    trimmed "$2.got" >"$2.out"
    if [ -e "$2.expected" ]; then
        trimmed "$2.expected" >"$2.want"
        diff -u --label "$1:$line as printed" --label "$1:$line as it runs" "$2.want" "$2.out" && return 0
    elif [ $rc = 0 ] && ! grep -E '^(psql:.*)?(ERROR|FATAL):' "$2.got" >/dev/null; then
        return 0
    else
        echo "$1:$line fails:"
        tail -20 "$2.got"
    fi
    return 1
}

check_page() { # page
    dir=$out/$(echo "$1" | tr / _)
    mkdir -p "$dir"
    counts=$(awk -v out="$dir" -f test/doc_examples.awk "$1") || { echo "not ok - $1: a block is not closed"; status=1; return; }
    [ "$counts" != "0 0" ] || return 0
    fresh_database
    wrong=0
    for line in "$dir"/*.line; do
        [ ! -e "$line" ] || check_example "$1" "${line%.line}" || wrong=$((wrong + 1))
    done
    summary="${counts% *} examples run as printed, ${counts#* } are not run"
    if [ -n "${UPDATE:-}" ]; then
        mkdir -p "$UPDATE/$(dirname "$1")" && awk -v got="$dir" -f test/doc_update.awk "$1" >"$UPDATE/$1"
    fi
    if [ $wrong = 0 ]; then
        echo "ok - $1: $summary"
    else
        echo "not ok - $1: $wrong of $summary"
        status=1
    fi
}

# Files and sections that pages refer to are there, and the files that they name.
check_links() {
    for page in *.md docs/*.md tools/*.md data/*.md bench/*.md; do
        grep -oE '\]\([^)]+\)' "$page" | sed 's/^](//; s/)$//' | grep -vE '^https?:' | sort -u |
            while read -r link; do
                file=${link%%#*}
                target=$(dirname "$page")/$file
                [ -n "$file" ] || target=$page
                [ -e "$target" ] || { echo "$page: there is no $link"; continue; }
                case $link in
                    *\#*) grep -E '^#+ ' "$target" | sed 's/^#* //' | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-' |
                        grep -qxF -e "${link#*#}" || echo "$page: there is no section $link" ;;
                esac
            done
        # files of the tree that are named in the text
        grep -oE '(^|[^A-Za-z0-9_./-])(src|test|t|bench|demo|tools|data|sql)/[A-Za-z0-9_./-]+[.](c|h|sql|sh|py|pl|csv|gz|awk|md|mk|txt)' "$page" |
            sed 's/^[^a-z]//' | sort -u | while read -r file; do
                [ -e "$file" ] || echo "$page: there is no $file"
            done
    done
}

# Functions, tables, settings and kinds that docs/reference.md does not name.
check_reference() {
    fresh_database
    psql -X -q -At -d mydb -c 'CREATE EXTENSION perfmodel' -c "SELECT proname FROM pg_proc
        WHERE pronamespace = 'perfmodel'::regnamespace AND prorettype <> 'trigger'::regtype
        UNION SELECT relname FROM pg_class WHERE relnamespace = 'perfmodel'::regnamespace AND relkind IN ('r', 'v')
        UNION SELECT name FROM pg_settings WHERE name LIKE 'perfmodel.%'
        UNION SELECT kind FROM perfmodel.kinds()" | while read -r name; do
        grep -q "[\`.]$name[\`(]" docs/reference.md || echo "docs/reference.md does not name $name"
    done
}

report() { # what holds, what was found against it
    if [ -z "$2" ]; then
        echo "ok - $1"
    else
        echo "$2"
        echo "not ok - $1"
        status=1
    fi
}

if [ $# = 0 ]; then
    set -- README.md CONTRIBUTING.md docs/*.md
    report "README.md is short enough" "$(awk 'length > 110 { print "README.md:" NR ": over 110 characters" }
        END { if (NR > 250) print "README.md: over 250 lines" }' README.md)"
    report "links between pages" "$(check_links)"
    report "the reference is complete" "$(check_reference)"
fi
for page; do
    check_page "$page"
done
psql -X -q -c 'DROP DATABASE IF EXISTS mydb WITH (FORCE)' >/dev/null 2>&1
exit $status
