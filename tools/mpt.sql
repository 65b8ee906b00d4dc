-- Sourced by tools/pretrain.sh and bench/llm.sql: pg_temp.load_mpt(names) loads the graphs of MPT among names such as mpt-1b@s2048,
-- and returns their number.
--
-- Sizes are those of mosaicml/llm-foundry, scripts/train/yamls/pretrain; with them the graphs have the parameters that its tables name.
CREATE TABLE mpt_size (model text, layers int, hidden int, heads int);
INSERT INTO mpt_size VALUES ('mpt-125m', 12, 768, 12), ('mpt-350m', 24, 1024, 16), ('mpt-760m', 24, 1536, 12), ('mpt-1b', 24, 2048, 16), ('mpt-3b', 32, 2560, 20),
                            ('mpt-7b', 32, 4096, 32), ('mpt-13b', 40, 5120, 40), ('mpt-30b', 48, 7168, 56), ('mpt-70b', 80, 8192, 64);
CREATE FUNCTION pg_temp.load_mpt(names text[]) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(perfmodel.load_graph(perfmodel.decoder_graph(name, layers, hidden, heads, split_part(name, '@s', 2)::int, 50368)))
    FROM (SELECT DISTINCT unnest(names) AS name) AS n JOIN mpt_size ON model = split_part(name, '@s', 1) $$;
