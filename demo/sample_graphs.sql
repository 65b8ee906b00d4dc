-- The sample graphs of data/ and the predictor that comes trained, into the
-- database that psql is connected to.  Run in the root of the checkout:
--     psql -d mydb -f demo/sample_graphs.sql
-- Safe to run again: graphs that are there already stay as they are.
\set was_quiet :QUIET
\set QUIET on
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS perfmodel;
CREATE EXTENSION IF NOT EXISTS perfmodel_pretrained;
CREATE TEMP TABLE sample_graph (document jsonb);
\copy sample_graph from program 'gzip -dc data/graphs.ndjson.gz' with (format csv, quote e'\x01', delimiter e'\x02')
SELECT count(perfmodel.load_graph(document)) AS graphs FROM sample_graph \gset
DROP TABLE sample_graph;
RESET client_min_messages;
\echo :graphs graphs are loaded
\set QUIET :was_quiet
