#!/bin/sh
# Build a program of this folder:  bench/scaling/build.sh NAME PROGRAM
set -eu
cd "$(dirname "$0")/../.."
listed() { make -s -f src/sources.mk "print-$1"; }
# shellcheck disable=SC2046,SC2086
${CC:-cc} $(listed CORE_CPPFLAGS) $(listed CORE_CFLAGS) ${CFLAGS:-} -Ibench/scaling -o "$2" "bench/scaling/$1.c" $(listed CORE_PLAIN_SOURCES) $(listed CORE_LIBS)
