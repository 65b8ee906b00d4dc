# A part of the install script -> the same for an update, in which its objects may exist already.
#
#   replace.awk PART              functions, views and triggers: made, or made anew in place
#   replace.awk -v comments=1 PART   of a part with tables: only what is said of them; what changes in the tables
#                                    themselves stands in the file before.sql of the update
comments { if (/^COMMENT ON /) inside = 1; if (inside) print; if (/;$/) inside = 0; next }
{ sub(/^CREATE (FUNCTION|VIEW|TRIGGER) /, "CREATE OR REPLACE&"); sub(/^CREATE OR REPLACECREATE/, "CREATE OR REPLACE"); print }
