-- Prints the only predictor of a database as the script that is the body of perfmodel_pretrained (data/pretrained.sql), for
-- psql with the options of pretrain.sh: unaligned, rows only.  Weights and hashes of rows are base64, which is short;
-- the weights in lines of 10,000 letters.
SELECT '-- Made by tools/pretrain.sh on ' || current_date || '; data/README.md says from what.';
SELECT format('INSERT INTO perfmodel.predictor_pretrained (predictor_id, name, kind, active, options, seed, n_profiles, n_operators, profiles_hash, profiles,
    gpus, frameworks, dtypes, layouts, valid_n, valid_mape, valid_mae_ms, valid_rmse_ms, train_seconds, epochs, n_params, trained_at, library_version, row_hashes)
SELECT -1, %L, %L, NOT EXISTS (SELECT FROM perfmodel.predictor WHERE active), %L,
    %s, %s, %s, %L, %L, %L, %L, %L, %L, %s, %s, %s, %s, %s, %s, %s, %L, %L,
    (SELECT array_agg((''x'' || encode(substr(raw, at, 8), ''hex''))::bit(64)::bigint ORDER BY at) FROM decode(%L, ''base64'') AS raw, generate_series(1, length(raw), 8) AS at);',
    name, kind, options, seed, n_profiles, n_operators, profiles_hash, '{}', gpus, frameworks, dtypes, layouts, valid_n, coalesce(valid_mape::text, 'NULL'),
    coalesce(valid_mae_ms::text, 'NULL'), coalesce(valid_rmse_ms::text, 'NULL'), train_seconds, epochs, n_params, trained_at, library_version,
    (SELECT replace(encode(string_agg(int8send(hash), ''::bytea ORDER BY at), 'base64'), E'\n', '') FROM unnest(row_hashes) WITH ORDINALITY AS h (hash, at)))
FROM perfmodel.predictor;
SELECT format(E'INSERT INTO perfmodel.predictor_weights_pretrained (predictor_id, part, data) SELECT -1, %s, decode(\'\n%s\', \'base64\');', part,
    (SELECT string_agg(substr(code, at, 10000), E'\n' ORDER BY at) FROM generate_series(1, length(code), 10000) AS at))
FROM (SELECT part, replace(encode(data, 'base64'), E'\n', '') AS code FROM perfmodel.predictor_weights) AS w ORDER BY part;
