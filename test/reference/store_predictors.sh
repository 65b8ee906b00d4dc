#!/bin/sh
# Make test/core/stored/format13 again, after the rules of work, the features or a kind of predictors changed: possible until a
# release has that format. Needs gcc and libopenblas-dev.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
listed() { make -s -f src/sources.mk "print-$1"; }
# shellcheck disable=SC2046
${CC:-cc} -std=gnu11 -O2 -fopenmp-simd -Itest/core -o "$work/store_predictors" $(listed CORE_CPPFLAGS) \
    test/reference/store_predictors.c $(listed CORE_PLAIN_SOURCES) $(listed CORE_LIBS)
"$work/store_predictors" test/core/stored/format13
ls -l test/core/stored/format13
