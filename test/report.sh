#!/bin/sh
# A report as a browser shows it: at two widths, light and dark, no text is cut
# off, lies upon another or is smaller than 9 pixels, contrast is that of WCAG 2.1 (4.5 : 1 for text,
# 3 : 1 for marks), the page is no wider than its window, and the SQL of each
# figure opens by keyboard. Figures can be looked into: a drag, the buttons and a
# double click change what they show. No script but the page's own runs, and
# without scripts the page is whole. Needs chromium; elsewhere it says that it is
# skipped.
#
#   test/private.sh test/report.sh [FOLDER]
#
# Pictures of the pages go to FOLDER, if there is one. Runs in the root of the
# tree against the server of the PG* variables.
set -u

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export PSQLRC=/dev/null PGTZ=UTC PGCLIENTENCODING=UTF8 PGOPTIONS='-c client_min_messages=warning'
status=0

browser() { # arguments
    timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$out/profile" "$@" 2>"$out/browser.log"
}

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo "skipped: there is no chromium"
    exit 0
}

export PGDATABASE=perfmodel_report
psql -X -q -d postgres -c 'DROP DATABASE IF EXISTS perfmodel_report' -c "CREATE DATABASE perfmodel_report ENCODING 'UTF8' TEMPLATE template0" >/dev/null 2>&1
psql -X -q -c 'CREATE EXTENSION perfmodel' -f demo/sample_graphs.sql -f demo/sample_measurements.sql -v jobs=3000 -f demo/jobs.sql >/dev/null || exit 1
psql -X -q -v ON_ERROR_STOP=1 >/dev/null <<'SQL' || exit 1
SELECT perfmodel.train('half', 'opclass', profiles => (SELECT array_agg(profile_id) FROM perfmodel.profile JOIN perfmodel.graph USING (graph_id)
                                                       WHERE ('x' || left(md5('d' || model), 7))::bit(28)::int % 2 = 0));
SELECT perfmodel.train('roofline', 'roofline', profiles => (SELECT array_agg(profile_id) FROM perfmodel.profile JOIN perfmodel.graph USING (graph_id)
                                                            WHERE ('x' || left(md5('d' || model), 7))::bit(28)::int % 2 = 0));
-- names that are long, and cards that are wide; words that would end a script or a string
CREATE TABLE waiting AS
SELECT job_id, team, graph_id, gpu, batch, dtype, layout, gpu_count, (100 * duration_s)::bigint AS steps, now() - interval '1 hour' AS submitted_at,
       CASE WHEN gpu_count = 2 THEN now() - interval '20 minutes' END AS started_at FROM job ORDER BY job_id LIMIT 60;
UPDATE waiting SET team = '</script><script>document.body.className = "smuggled"</script> \u0022"' || chr(8232) WHERE team = 'team-d';
INSERT INTO perfmodel.price (gpu, usd_per_hour) SELECT DISTINCT gpu, 0.4 FROM job;
UPDATE job SET team = 'the group for images of very long names, and others' WHERE team = 'team-b';
UPDATE job SET gpu = 'A100-SXM4-80GB' WHERE team = 'team-c';
SQL
psql -X -At -c "SELECT perfmodel.report('job', predictor => 'half', alternatives => '{RTX 3090,A100,H100,L4,T4}',
    queue => 'waiting', free => '{\"RTX 3090\": 8, \"TITAN X (Pascal)\": 8, \"GTX 1080 Ti\": 8}')" >"$out/jobs.html" &&
    psql -X -At -c "SELECT perfmodel.report_diff('half', 'roofline')" >"$out/two_predictors.html" &&
    psql -X -At -c "SELECT perfmodel.report()" >"$out/predictor.html" || exit 1

# A copy of a page with a script of the tests, which the page's own policy would not let run.
with_script() { # page
    sed '/^<meta http-equiv="Content-Security-Policy"$/,/>$/d' "$out/$1.html"
    echo '<script>'
    cat test/report_zoom.js test/report_check.js
    echo '</script>'
}

# Let the browser look with the script that is in $out/checked.html, and say what it found.
look() { # name, further arguments of the browser
    name=$1
    shift
    browser --enable-logging=stderr --virtual-time-budget=60000 "$@" --dump-dom "file://$out/checked.html" >"$out/found"
    counted=$(sed -n 's/.*FOUND //p' "$out/found")
    if [ -n "$counted" ] && ! grep -q '^WRONG' "$out/found" && ! grep -qa CONSOLE "$out/browser.log"; then
        echo "ok - report on $name: $counted"
    else
        sed -n 's/^WRONG /    /p' "$out/found" | head -20
        grep -a CONSOLE "$out/browser.log" | head -3
        [ -n "$counted" ] || tail -3 "$out/browser.log"
        echo "not ok - report on $name"
        status=1
    fi
}

for page in jobs predictor two_predictors; do
    for width in 1280 520; do
        for scheme in light dark; do
            [ $scheme = dark ] && n=0 || n=1
            with_script $page >"$out/checked.html"
            look "$page, $width wide, $scheme" --blink-settings=preferredColorScheme=$n --window-size=$width,900
            [ -z "${1:-}" ] || [ $page = predictor ] || browser --blink-settings=preferredColorScheme=$n --window-size=$width,4200 --screenshot="$1/report_${page}_${width}_$scheme.png" \
                "file://$out/$page.html" >/dev/null
        done
    done
done

# Marks that are one, alike, unknown, negative, far apart, on all scales; and many.
psql -X -Atq >"$out/odd.html" <<'SQL' || exit 1
SELECT perfmodel.report_page('odd', '<main><div class="grid">' || string_agg(perfmodel.report_plot(concat_ws(' ', form, what, sx, sy), '', form, query, 'x', 'y', sx, sy, r, zoom => true), '') ||
    perfmodel.report_plot('many', '', 'compare', 'SELECT i AS x, i AS y FROM generate_series(1, 150000) AS i', zoom => true) || '</div></main>', true)
FROM unnest('{points,compare,lines,areas,spans}'::text[]) AS form, (VALUES ('linear', 'linear', 3.0), ('time', 'linear', NULL), ('log', 'log', 3.0), ('log', 'log', -1)) AS s(sx, sy, r), (VALUES
    ('one', $$SELECT 5.0 AS x, 6.0 AS y, 'a' AS series, 'l' AS label$$), ('same x', $$SELECT 5.0 AS x, i AS y, 4.0 AS low, 9 AS high, 'a' AS series, 'l' AS label FROM generate_series(6, 9) AS i$$),
    ('same y', $$SELECT i AS x, 20.0 AS y, 'a' AS series, 'l' AS label FROM generate_series(6, 9) AS i$$), ('nothing', $$SELECT NULL::float8 AS x, NULL::float8 AS y, 'a' AS series, 'l' AS label$$),
    ('unknown', $$SELECT CASE WHEN i > 6 THEN i END AS x, CASE WHEN i < 9 THEN i + 1 END AS y, NULL::float8 AS low, i + 2 AS high, 'a' || i AS series FROM generate_series(5, 9) AS i$$),
    ('negative', $$SELECT -i AS x, -i * 2 AS y, 'a' AS series, 'l' AS label FROM generate_series(5, 9) AS i$$), ('near', $$SELECT 1e17 + i * 16 AS x, 1e17 + i * 16 AS y, 'a' AS series, 'l' AS label FROM generate_series(1, 3) AS i$$),
    ('wide', $$SELECT i AS x, 10.0 ^ i AS y, 10.0 ^ (i - 1) AS low, 10.0 ^ (i + 1) AS high, 'a' AS series, 'l' AS label FROM generate_series(1, 30) AS i$$)) AS v(what, query);
SQL
{ with_script odd | sed '/^\/\/ Looks at a report in a browser/,$d'
  cat <<'JS'; } >"$out/checked.html"
addEventListener('load', async () => {
  const found = [];
  addEventListener('error', e => found.push(e.message));
  const n = await pressAll(found);
  document.documentElement.innerHTML = `<body><pre>\nFOUND ${n} figures\n${found.map(f => 'WRONG ' + f).join('\n')}\n</pre>`;
});
</script>
JS
look "odd marks"

# As it is: its own script runs, another one does not; and without scripts all figures are there.
{ cat "$out/jobs.html"; echo '<script>document.body.className = "smuggled"</script>'; } >"$out/policy.html"
browser --dump-dom "file://$out/policy.html" >"$out/found"
if grep -q '<p class="zoom">' "$out/found" && ! grep -q '<body class="smuggled"' "$out/found"; then
    echo "ok - report on jobs: no script runs but its own"
else
    echo "not ok - report on jobs: no script runs but its own"
    status=1
fi
sed "s,script-src 'sha256-[^\"]*,script-src 'none'," "$out/jobs.html" >"$out/unscripted.html"
browser --dump-dom "file://$out/unscripted.html" >"$out/found"
if [ "$(grep -c '<svg' "$out/found")" = "$(grep -c '<svg' "$out/jobs.html")" ] && ! grep -q '<p class="zoom">\|class="replaced"' "$out/found"; then
    echo "ok - report on jobs: whole without scripts"
else
    echo "not ok - report on jobs: whole without scripts"
    status=1
fi
psql -X -q -d postgres -c 'DROP DATABASE IF EXISTS perfmodel_report' >/dev/null 2>&1
exit $status
