-- Sourced by tools/pretrain.sh and bench/llm.sql: pg_temp.load_decoders(names) loads the graphs of the language models below among
-- names such as mpt-1b@s2048, and returns their number.
--
-- Sizes of MPT are those of mosaicml/llm-foundry, scripts/train/yamls/pretrain; with them the graphs have the parameters that its tables
-- name. Its attention is a kernel in Triton after the first FlashAttention. NeMo runs cuDNN's attention.
CREATE TABLE decoder_size (model text, layers int, hidden int, heads int, kv_heads int, feed_forward int, vocabulary int, style text, attention text);
INSERT INTO decoder_size
SELECT model, layers, hidden, heads, heads, 4 * hidden, 50368, 'gpt', 'flash1'
FROM (VALUES ('mpt-125m', 12, 768, 12), ('mpt-350m', 24, 1024, 16), ('mpt-760m', 24, 1536, 12), ('mpt-1b', 24, 2048, 16), ('mpt-3b', 32, 2560, 20),
             ('mpt-7b', 32, 4096, 32), ('mpt-13b', 40, 5120, 40), ('mpt-30b', 48, 7168, 56), ('mpt-70b', 80, 8192, 64)) AS v(model, layers, hidden, heads)
UNION ALL VALUES ('llama-3-8b', 32, 4096, 32, 8, 14336, 128256, 'llama', 'flash3');
CREATE FUNCTION pg_temp.load_decoders(names text[]) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(perfmodel.load_graph(perfmodel.decoder_graph(name, layers, hidden, heads, split_part(name, '@s', 2)::int, vocabulary, style, kv_heads, feed_forward,
                                                              attention => attention)))
    FROM (SELECT DISTINCT unnest(names) AS name) AS n JOIN decoder_size ON model = split_part(name, '@s', 1) $$;
