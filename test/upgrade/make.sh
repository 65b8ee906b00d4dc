#!/bin/sh
# What was run in a checkout of perfmodel 0.1.0, which had neither this file nor
# make.sql and answers.sql, to make 0.1.0.sql and 0.1.0.answers beside it:
# graphs, measurements and predictors as that version stored them.
#
#     test/upgrade/make.sh CHECKOUT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cp "$here/make.sql" "$here/answers.sql" "$out"
chmod -R a+rwX "$out"
cd "$1"
OUT=$out test/private.sh sh -c '
    psql -qX -f sql/setup.sql >/dev/null
    psql -qXAt -v ON_ERROR_STOP=1 -f "$OUT/make.sql" >/dev/null
    pg_dump -a >"$OUT/rows"
    psql -qXAt -f "$OUT/answers.sql" >"$OUT/answers"'
{ echo '-- Rows as perfmodel 0.1.0 stored them, made by test/upgrade/make.sh'; grep -vE '^(\\(un)?restrict|SET |--|SELECT pg_catalog.set_config|$)' "$out/rows"; } >"$here/0.1.0.sql"
cp "$out/answers" "$here/0.1.0.answers"
