-- No constraint spans a table and those that inherit from it.

DO $$
BEGIN
    IF EXISTS (SELECT FROM perfmodel.predictor WHERE name OPERATOR(pg_catalog.=) 'pretrained') THEN
        RAISE EXCEPTION 'predictor "pretrained" already exists'
            USING ERRCODE = 'duplicate_object',
                  HINT = 'Rename yours: UPDATE perfmodel.predictor SET name = ''...'' WHERE name = ''pretrained''.';
    END IF;
END $$;
