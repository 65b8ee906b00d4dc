#!/bin/sh
# Import a price list into perfmodel.price:
#
#   tools/import_prices.sh FILE PROVIDER [DATABASE]
#
# FILE is CSV with a header; of its columns AcceleratorName, AcceleratorCount,
# Price, SpotPrice (may lack) and Region are read, as the catalogues of SkyPilot
# have them: dollars for an hour of the whole machine. Prices are stored for one
# GPU, the cheapest machine of a region with that GPU. Prices of the provider
# that are valid now end, also those that were to end later. Those that begin
# later stay, and a new price of the same thing ends where the first of them
# begins. Names in another case are the same provider and region. Devices that
# perfmodel does not know are left out and counted. One transaction: all of it or
# nothing.
set -eu
[ $# -ge 2 ] || { sed -n '2,$s/^# \{0,1\}//p' "$0" | head -4 >&2; exit 2; }
file=$1
provider=$2
[ -r "$file" ] || { echo "$0: cannot read $file" >&2; exit 1; }
# psql would take what follows such a line for commands, and whoever wrote the list is a stranger
! LC_ALL=C grep -q '^\\[.]' "$file" || { echo "$0: a line of $file begins with \\., which prices do not" >&2; exit 1; }
columns=$(head -1 "$file" | tr -d '\r"' | sed 's/\([^,]*\)/"\1" text/g')
case ,$(head -1 "$file" | tr -d '\r"'), in
    *,SpotPrice,*) ;;
    *) spot='ALTER TABLE catalogue ADD COLUMN "SpotPrice" text;' ;;
esac

{
    cat <<SQL
BEGIN;
CREATE TEMP TABLE catalogue ($columns) ON COMMIT DROP;
COPY catalogue FROM STDIN (FORMAT csv, HEADER);
SQL
    cat "$file"
    [ -z "$(tail -c 1 "$file")" ] || echo
    echo '\.'
    cat <<SQL
${spot:-}
CREATE TEMP TABLE priced ON COMMIT DROP AS
SELECT perfmodel.find_gpu("AcceleratorName") AS gpu, min(coalesce("Region", '')) AS region, kind, min(usd::float8 / "AcceleratorCount"::float8) AS usd_per_hour
FROM catalogue, LATERAL (VALUES ('on_demand', "Price"), ('spot', "SpotPrice")) AS p (kind, usd)
WHERE "AcceleratorName" <> '' AND "AcceleratorCount"::float8 > 0 AND usd <> ''
GROUP BY 1, lower(coalesce("Region", '')), kind;
DELETE FROM perfmodel.price WHERE lower(provider) = lower(:'provider') AND lower(valid) = now();
UPDATE perfmodel.price SET valid = valid * tstzrange(NULL, now()) WHERE lower(provider) = lower(:'provider') AND valid @> now();
INSERT INTO perfmodel.price (gpu, provider, region, kind, usd_per_hour, valid, source)
SELECT n.gpu, :'provider', n.region, n.kind, n.usd_per_hour, tstzrange(now(), min(lower(p.valid))), :'file'
FROM priced AS n LEFT JOIN perfmodel.price AS p
     ON lower(p.provider) = lower(:'provider') AND p.gpu = n.gpu AND lower(p.region) = lower(n.region) AND p.kind = n.kind AND lower(p.valid) > now()
WHERE n.gpu IS NOT NULL GROUP BY n.gpu, n.region, n.kind, n.usd_per_hour;
SELECT format('%s prices of %s GPUs', count(*), count(DISTINCT gpu)) FROM priced WHERE gpu IS NOT NULL;
SELECT 'GPUs that perfmodel does not know: ' || string_agg(DISTINCT c."AcceleratorName", ', ')
FROM catalogue AS c WHERE c."AcceleratorName" <> '' AND perfmodel.find_gpu(c."AcceleratorName") IS NULL HAVING count(*) > 0;
COMMIT;
SQL
} | psql -XqAt -v ON_ERROR_STOP=1 -v provider="$provider" -v file="$(basename "$file")" ${3:+-d "$3"}
