# The SQL statements of a document, as they stand in it: what is between ```sql
# and ```, of the whole document or of the section named by -v section=TITLE.
/^#/ { inside = !section || substr($0, index($0, " ") + 1) == section }
/^```/ { sql = inside && $0 == "```sql"; next }
sql
