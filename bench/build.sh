#!/bin/sh
# Build a benchmark of the core as the extension is built (Makefile), with every
# matrix product going through a function of the benchmark:
#
#     bench/build.sh bench/NAME.c PROGRAM
#
# CC, and CFLAGS beside those of the extension, may be set in the environment.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -eq 2 ] || { echo "usage: bench/build.sh bench/NAME.c PROGRAM" >&2; exit 1; }
cc=${CC:-cc}
listed() { make -s -C "$root" -f src/sources.mk "print-$1"; }
here=$PWD
cd "$root"
case $1 in /*) source=$1 ;; *) source=$here/$1 ;; esac
case $2 in /*) program=$2 ;; *) program=$here/$2 ;; esac
# shellcheck disable=SC2046,SC2086
$cc $(listed CORE_CPPFLAGS) $(listed CORE_CFLAGS) ${CFLAGS:-} -Wl,--wrap=pm_gemm \
    -o "$program" "$source" bench/accuracy/rows.c $(listed CORE_PLAIN_SOURCES) $(listed CORE_LIBS)
