#!/bin/sh
# Run a command with a PostgreSQL server of its own that has perfmodel:
#
#   test/private.sh psql
#   test/private.sh make installcheck REGRESS=graph
#
# The command runs in a copy of the tree; nothing of the system is changed.
set -eu
. "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || set -- psql

need_packages
private_copy
build_and_stage
with_server "$@"
