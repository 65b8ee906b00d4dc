-- What lets the reader of a report look into its figures: uPlot and the script that calls it.

CREATE FUNCTION perfmodel.report_script() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$SELECT $js$
/* uPlot 1.6.32
-- include data/uplot/LICENSE
*/
-- include data/uplot/uPlot.min.js
-- include sql/install/zoom.js
$js$ $function$;
COMMENT ON FUNCTION perfmodel.report_script() IS 'script of a report that zooms into its figures: uPlot (MIT) and the code that calls it';

CREATE FUNCTION perfmodel.report_script_style() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$SELECT $css$
-- include data/uplot/uPlot.min.css
.u-legend{font-size:13px;width:auto;min-width:0;max-width:100%;margin:0}.u-legend .edge{display:none}
.u-legend th,.u-legend td,.u-legend td:last-child:not(.num){border:0;min-width:0;padding:2px 3px}
.u-select{background:var(--accent);opacity:.15}
.zoom{display:flex;flex-wrap:wrap;gap:6px 8px;align-items:center;margin:10px 0 0;font-size:13px;max-width:none}
.zoom span{color:var(--dim)}.zoom [hidden]{display:none}
.zoom button{font:inherit;color:var(--ink);background:var(--ground);border:1px solid var(--dim);
border-radius:6px;padding:2px 10px;cursor:pointer}
.zoom button[aria-pressed=true]{background:var(--accent);border-color:var(--accent);color:var(--paper)}
.zoomed{min-width:440px}.wide .zoomed{min-width:900px}
@media screen{.plot svg.replaced{display:none}}
@media print{.zoom,.zoomed{display:none}}
$css$ $function$;
COMMENT ON FUNCTION perfmodel.report_script_style() IS 'styles that report_script() needs, including those of uPlot (MIT)';
