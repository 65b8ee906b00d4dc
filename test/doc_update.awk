# A document with the outputs of its examples as they are in -v got=DIR, N.out
# for each N that doc_examples.awk made there.
/^```/ && inside { inside = 0; fresh = 0; print; next }
/^```(sql|sh)$/ { inside = 1; last = skip ? "" : sprintf("%s/%03d", got, ++n); skip = 0; print; next }
/^```text$/ {
    inside = 1
    print
    if (last) { fresh = 1; while ((getline line < (last ".out")) > 0) print line; close(last ".out") }
    last = ""
    next
}
/^```/ { inside = 1; last = ""; print; next }
inside { if (!fresh) print; next }
/^<!-- not run: .* -->$/ { skip = 1 }
/[^ \t]/ && !/^<!-- not run: / { last = "" }
{ print }
