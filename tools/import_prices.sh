#!/bin/sh
# Import a price list into perfmodel.price:
#
#   tools/import_prices.sh [--from TIME] FILE PROVIDER [DATABASE]
#
# FILE is CSV with a header; of its columns AcceleratorName, AcceleratorCount,
# Price, SpotPrice (may lack) and Region are read, as the catalogues of SkyPilot
# have them: dollars for an hour of the whole machine. Prices are stored for one
# GPU, the cheapest machine of a region with that GPU. They hold from TIME on:
# now, if it is not given; -infinity is always. Prices of the provider
# that are valid at TIME end then, also those that were to end later. Those that begin
# later stay, and a new price of the same thing ends where the first of them
# begins. Names in another case are the same provider and region. Devices that
# perfmodel does not know are left out and counted. A list without a price of a
# device that it knows is an error: it may be a download that broke off. One
# transaction: all of it or nothing.
set -eu
begins="now()"
if [ "${1:-}" = --from ] && [ $# -ge 2 ]; then
    from=$2
    begins=":'from'::timestamptz"
    shift 2
fi
[ $# -ge 2 ] && [ "${1#--}" = "$1" ] || { sed -n '2,$s/^# \{0,1\}//p' "$0" | head -4 >&2; exit 2; }
file=$1
provider=$2
refuse()
{
    echo "$0: $1" >&2
    exit 1
}
[ -r "$file" ] || refuse "cannot read $file"
# Without the bytes that spreadsheets write before a header. COPY wants the same end of all lines.
plain()
{
    LC_ALL=C sed "1s/^$(printf '\357\273\277')//" | tr -d '\r'
}
# psql would take what follows such a line for commands, and whoever wrote the list is a stranger
! plain <"$file" | LC_ALL=C grep -q '^\\[.]' || refuse "a line of $file begins with \\., which prices do not"
header=$(head -1 "$file" | plain | tr -d '"')
missing=
for column in AcceleratorName AcceleratorCount Price Region; do
    case ,$header, in
        *,"$column",*) ;;
        *) missing="$missing${missing:+, }$column" ;;
    esac
done
[ -z "$missing" ] || refuse "the first line of $file lacks the columns $missing
It must have AcceleratorName, AcceleratorCount, Price and Region, and may have SpotPrice and others, with commas between them.
It is: $(printf %s "$header" | cut -c 1-200)"
columns=$(printf %s "$header" | sed 's/\([^,]*\)/"\1" text/g')
case ,$header, in
    *,SpotPrice,*) ;;
    *) spot='ALTER TABLE catalogue ADD COLUMN "SpotPrice" text;' ;;
esac

{
    cat <<SQL
BEGIN;
CREATE TEMP TABLE catalogue ($columns) ON COMMIT DROP;
COPY catalogue FROM STDIN (FORMAT csv, HEADER);
SQL
    plain <"$file"
    [ -z "$(tail -c 1 "$file")" ] || echo
    echo '\.'
    cat <<SQL
${spot:-}
CREATE TEMP TABLE priced ON COMMIT DROP AS
SELECT perfmodel.find_gpu("AcceleratorName") AS gpu, min(coalesce("Region", '')) AS region, kind, min(usd::float8 / "AcceleratorCount"::float8) AS usd_per_hour
FROM catalogue, LATERAL (VALUES ('on_demand', "Price"), ('spot', "SpotPrice")) AS p (kind, usd)
WHERE "AcceleratorName" <> '' AND "AcceleratorCount"::float8 > 0 AND usd <> ''
GROUP BY 1, lower(coalesce("Region", '')), kind;
DO \$\$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_temp.priced WHERE gpu IS NOT NULL) THEN
        RAISE EXCEPTION 'the list has no price of a GPU that perfmodel knows: all prices stay as they were' USING
            DETAIL = (SELECT format('It has %s rows; GPUs in them: %s.', count(*), coalesce(left(string_agg(DISTINCT "AcceleratorName", ', '), 300), 'none')) FROM pg_temp.catalogue),
            HINT = 'Look at the file. perfmodel.gpu has the names that perfmodel knows.';
    END IF;
END \$\$;
DELETE FROM perfmodel.price WHERE lower(provider) = lower(:'provider') AND coalesce(lower(valid), '-infinity') = $begins;
UPDATE perfmodel.price SET valid = valid * tstzrange(NULL, $begins) WHERE lower(provider) = lower(:'provider') AND valid @> $begins;
INSERT INTO perfmodel.price (gpu, provider, region, kind, usd_per_hour, valid, source)
SELECT n.gpu, :'provider', n.region, n.kind, n.usd_per_hour, tstzrange(nullif($begins, '-infinity'), min(lower(p.valid))), :'file'
FROM priced AS n LEFT JOIN perfmodel.price AS p
     ON lower(p.provider) = lower(:'provider') AND p.gpu = n.gpu AND lower(p.region) = lower(n.region) AND p.kind = n.kind AND lower(p.valid) > $begins
WHERE n.gpu IS NOT NULL GROUP BY n.gpu, n.region, n.kind, n.usd_per_hour;
SELECT format('%s prices of %s GPUs', count(*), count(DISTINCT gpu)) FROM priced WHERE gpu IS NOT NULL;
SELECT 'GPUs that perfmodel does not know: ' || string_agg(DISTINCT c."AcceleratorName", ', ')
FROM catalogue AS c WHERE c."AcceleratorName" <> '' AND perfmodel.find_gpu(c."AcceleratorName") IS NULL HAVING count(*) > 0;
COMMIT;
SQL
} | psql -XqAt -v ON_ERROR_STOP=1 -v SHOW_CONTEXT=never -v from="${from:-}" -v provider="$provider" -v file="$(basename "$file")" ${3:+-d "$3"}
