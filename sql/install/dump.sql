-- What pg_dump keeps: the users' rows. Rows that come with the extension come
-- back with the extension.

SELECT pg_catalog.pg_extension_config_dump('perfmodel.gpu', 'WHERE NOT builtin');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.graph', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.graph_graph_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.graph_node', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.profile', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.profile_profile_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.op_profile', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.op_profile_op_profile_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.predictor', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.predictor_predictor_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.predictor_weights', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.training_run', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.training_run_run_id_seq', '');
