# data/gpu.csv -> INSERT statements of the install script; with -v update=1 of an update, which
# brings the sheets that come with the extension up to date, leaves the users' alone, and
# names those of devices that come with the extension from this version on.
# The file has a header line, no quoted fields, and | between aliases.
function text(s) { gsub(/'/, "''", s); return s == "" ? "NULL" : "'" s "'" }
function num(s) { return s == "" ? "NULL" : s }
BEGIN {
    FS = ","; bad = 0
    n_columns = split("vendor memory_gb mem_bw_gbs sm_count cores_per_sm clock_ghz fp32_tflops fp16_tensor_tflops l2_mb interconnect is_cpu aliases note tdp_w base_clock_ghz memory_type compute_capability l1_kb register_kb fp16_tflops source", column, " ")
    for (i = 1; update && i <= n_columns; i++) set = set (i > 1 ? ", " : "\n    ON CONFLICT (name) DO UPDATE SET ") column[i] " = excluded." column[i]
    if (update) set = set " WHERE gpu.builtin"
}
NR == 1 { n = NF; next }
NF != n || /"/ { printf "gpu_rows.awk: line %d of %s has %d fields, not %d, or a quote\n", NR, FILENAME, NF, n > "/dev/stderr"; bad = 1; exit 1 }
{
    names = names (NR > 2 ? ", " : "") text($1)
    aliases = "'{}'"
    if ($13 != "") {
        k = split($13, a, "|"); aliases = "ARRAY["
        for (i = 1; i <= k; i++) aliases = aliases (i > 1 ? ", " : "") text(a[i])
        aliases = aliases "]"
    }
    printf "INSERT INTO perfmodel.gpu VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, true, %s, %s, %s, %s, %s, %s, %s, %s)%s;\n",
        text($1), text($2), num($3), num($4), num($5), num($6), num($7), num($8), num($9), num($10), text($11),
        ($12 == "t" ? "true" : "false"), aliases, text($14),
        num($15), num($16), text($17), num($18), num($19), num($20), num($21), text($22), set
}
END {
    if (!update || bad) exit bad
    print "DO $$"
    print "DECLARE"
    print "    own text;"
    print "BEGIN"
    print "    SELECT string_agg(quote_literal(g.name), ', ' ORDER BY g.name) INTO own FROM perfmodel.gpu AS g"
    print "    WHERE NOT g.builtin AND g.name IN (" names ");"
    print "    IF own IS NOT NULL THEN"
    print "        RAISE WARNING 'perfmodel.gpu has rows of yours for devices that come with perfmodel now: %', own"
    print "            USING DETAIL = 'Your rows count, as before.',"
    print "                  HINT = format('A dump with such rows cannot be restored. This leaves them out of dumps, and a restored database has the rows of perfmodel in their place: "\
          "UPDATE perfmodel.gpu SET builtin = true WHERE name IN (%s);', own);"
    print "    END IF;"
    print "END $$;"
}
