#!/bin/sh
# Make golden.txt again, after the network's inputs or architecture changed.
# Needs gcc, libopenblas-dev and python3-torch.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$(cd ../.. && pwd)
listed() { make -s -C "$root" -f src/sources.mk "print-$1"; }
# shellcheck disable=SC2046
(cd ../.. && ${CC:-cc} -std=gnu11 -O2 -fopenmp-simd -DPM_DOUBLE $(listed CORE_CPPFLAGS) -o "$work/dump_golden" \
    test/reference/dump_golden.c $(listed CORE_PLAIN_SOURCES) $(listed CORE_LIBS))
"$work/dump_golden" golden_graphs.ndjson >"$work/inputs.txt"
PYTHONDONTWRITEBYTECODE=1 ${PYTHON:-/usr/bin/python3} make_golden.py "$work/inputs.txt" >"$work/golden.txt"
mv "$work/golden.txt" golden.txt
chmod 644 golden.txt
ls -l golden.txt
