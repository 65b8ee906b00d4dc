# A part of the install script -> the same with files in the place of the lines that name them:
#
#     -- include FILE
#
# Lines of at most 120 bytes, so that a report may have the text in it.
function fail(why) { printf "include.awk: %s %s\n", file, why > "/dev/stderr"; exit 1 }
!/^-- include / { print; next }
{
    file = $3; lines = 0
    while ((got = (getline line < file)) > 0) {
        if (length(line) > 120) fail("has a line of more than 120 bytes")
        print line; lines++
    }
    if (got < 0 || lines == 0) fail("cannot be read")
    close(file)
}
