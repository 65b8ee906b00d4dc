#!/bin/sh
# Run a command with a PostgreSQL server of its own that has perfmodel:
#
#   test/private.sh
#   test/private.sh psql -c 'SELECT * FROM perfmodel.version()'
#   test/private.sh make installcheck REGRESS="setup graph"
#
# With PLANNER=1, perfmodel_planner is there, too. Without a command it is psql. The database that it is connected to has the
# extension. The command runs in a copy of the tree; nothing of the system is
# changed.
set -eu
. "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || set -- psql

need_packages
echo "building perfmodel in a private copy of the tree" >&2
private_copy
build_and_stage
[ -z "${PLANNER:-}" ] || build_and_stage_planner || failed_to "perfmodel_planner could not be built"
echo "starting a private PostgreSQL server" >&2
with_server sh -c 'psql -qX -v ON_ERROR_STOP=1 -c "CREATE EXTENSION perfmodel" && exec "$@"' sh "$@"
