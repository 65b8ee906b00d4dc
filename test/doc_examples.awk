# The examples of a document, as files in the folder -v out=DIR:
#   N.sql or N.sh     what is between ```sql or ```sh and ```
#   N.expected        what is between ```text and ```, where that follows with nothing but blank lines between
#   N.line            the line of the document on which the example begins
# A block after a line "<!-- not run: REASON -->" is left out and counted; prints "EXAMPLES NOT_RUN".
function finish() { if (file) close(file); file = "" }
/^```/ && inside { inside = 0; finish(); next }
/^```(sql|sh)$/ {
    inside = 1
    if (skip) { skipped++; skip = 0; last = 0; next }
    last = sprintf("%s/%03d", out, ++n)
    print NR > (last ".line"); close(last ".line")
    file = last "." substr($0, 4)
    next
}
/^```text$/ { inside = 1; if (last) { file = last ".expected"; printf "" > file }; last = 0; next }
/^```/ { inside = 1; last = 0; next }
inside { if (file) print > file; next }
/^<!-- not run: .* -->$/ { skip = 1; next }
/[^ \t]/ { last = 0 }
END { if (inside) print "a block is not closed" > "/dev/stderr"; print n + 0, skipped + 0; exit inside }
