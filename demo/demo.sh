#!/bin/sh
# make demo: from a checkout to predictions of networks that training has not
# seen, with a PostgreSQL server of its own that is gone afterwards.
set -eu
. "$(dirname "$0")/../test/lib.sh"

say() { printf '\n== %s\n' "$*"; }

need_packages
say "building perfmodel (in a private copy of the tree)"
private_copy
build_and_stage
say "starting a private PostgreSQL server"
# read from standard input, so that notices are not preceded by file names
with_server sh -c 'psql -qX -v ON_ERROR_STOP=1 -P footer=off -P pager=off <demo/demo.sql'
# the copy of the tree goes when this ends; the pages stay
out=$root/build
mkdir -p "$out" 2>/dev/null && [ -w "$out" ] || out=$(mktemp -d)
cp "$work/src/demo_jobs.html" "$work/src/demo_predictor.html" "$out/"
echo
echo "Both as pages with figures, for a browser:"
echo "    $out/demo_jobs.html"
echo "    $out/demo_predictor.html"
say "done; the server is gone. README.md shows how to use perfmodel with a server of your own."
