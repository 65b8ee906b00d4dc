#!/bin/sh
# Build a benchmark of the core as the extension is built (Makefile), with every
# matrix product going through a function of the benchmark:
#
#     bench/build.sh bench/NAME.c PROGRAM
#
# CC, and CFLAGS beside those of the extension, may be set in the environment.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cc=${CC:-cc}
openblas=-l:libopenblas.a
[ -n "$($cc -print-file-name=libopenblas.a | grep / || true)" ] || openblas='-lopenblas -DPM_BLAS_SHARED'
# shellcheck disable=SC2086
$cc -std=gnu11 -O3 -fno-trapping-math -fno-math-errno -fopenmp-simd ${CFLAGS:-} -Wl,--wrap=pm_gemm \
    -o "$2" "$1" "$root/bench/accuracy/rows.c" "$root"/src/core/*.c $openblas -lm -lpthread
