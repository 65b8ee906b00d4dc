-- What an hour of a GPU costs, and what a kilowatt-hour emits.
-- The tables are new in 0.2.0, so that an update makes them from this file.

-- GiST compares text only with the extension btree_gist, which not every server has; a range that holds nothing but a hash of the
-- text does as well, and two texts have the same one once in 2^64. A function of its own, so that the server's error reads well.
-- Questions find a price whatever the case of its provider and region is, so two spellings are one.
CREATE FUNCTION perfmodel.price_key(gpu text, provider text, region text, kind text) RETURNS int8range
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN int8range(hashtextextended(lower(gpu || chr(1) || provider || chr(1) || region || chr(1) || kind), 0),
                     hashtextextended(lower(gpu || chr(1) || provider || chr(1) || region || chr(1) || kind), 0), '[]');
COMMENT ON FUNCTION perfmodel.price_key(text, text, text, text) IS 'a range with a hash of these texts; two prices with the same range must not be valid at one time';

CREATE TABLE perfmodel.price (
    price_id     bigint    GENERATED ALWAYS AS IDENTITY CONSTRAINT price_pkey PRIMARY KEY,
    gpu          text      NOT NULL CONSTRAINT price_gpu_known REFERENCES perfmodel.gpu (name) ON UPDATE CASCADE,
    provider     text      NOT NULL DEFAULT '',
    region       text      NOT NULL DEFAULT '',
    kind         text      NOT NULL DEFAULT 'on_demand' CONSTRAINT price_kind_known CHECK (kind IN ('on_demand', 'spot', 'own')),
    usd_per_hour float8    NOT NULL CONSTRAINT price_usd_per_hour_in_range CHECK (usd_per_hour BETWEEN 0 AND 1e6),
    valid        tstzrange NOT NULL DEFAULT '(,)' CONSTRAINT price_valid_not_empty CHECK (NOT isempty(valid)),
    source       text,
    CONSTRAINT price_one_at_a_time EXCLUDE USING gist (perfmodel.price_key(gpu, provider, region, kind) WITH =, valid WITH &&)
);
COMMENT ON TABLE perfmodel.price IS 'prices of an hour of one GPU; fill it with INSERT, COPY or tools/import_prices.sh';
COMMENT ON COLUMN perfmodel.price.price_id IS 'identifies the price';
COMMENT ON COLUMN perfmodel.price.gpu IS 'device; an alias is replaced by the name of the device';
COMMENT ON COLUMN perfmodel.price.provider IS 'who rents it out; empty: you';
COMMENT ON COLUMN perfmodel.price.region IS 'where; empty: in every region that has no price of its own';
COMMENT ON COLUMN perfmodel.price.kind IS 'on_demand, spot, or own';
COMMENT ON COLUMN perfmodel.price.usd_per_hour IS 'US dollars for an hour of one GPU, its share of the machine included';
COMMENT ON COLUMN perfmodel.price.valid IS 'time in which the price is valid; prices of the same device, provider, region and kind cannot overlap';
COMMENT ON COLUMN perfmodel.price.source IS 'source of the price';
COMMENT ON INDEX perfmodel.price_one_at_a_time IS 'one price of a device, provider, region and kind at a time';

CREATE TABLE perfmodel.carbon_intensity (
    region    text    CONSTRAINT carbon_intensity_pkey PRIMARY KEY,
    g_per_kwh float8  NOT NULL CONSTRAINT carbon_intensity_g_per_kwh_in_range CHECK (g_per_kwh BETWEEN 0 AND 1e5),
    source    text,
    builtin   boolean NOT NULL DEFAULT false,
    names     text[]  NOT NULL DEFAULT '{}' CONSTRAINT carbon_intensity_names_is_a_list CHECK (pg_catalog.cardinality(names) = 0 OR pg_catalog.array_ndims(names) = 1)
);
COMMENT ON TABLE perfmodel.carbon_intensity IS 'emissions of electricity by region; rows with builtin = true come with the extension';
COMMENT ON COLUMN perfmodel.carbon_intensity.region IS 'country (ISO 3166 alpha-3), or a region of your own, such as that of a provider';
COMMENT ON COLUMN perfmodel.carbon_intensity.g_per_kwh IS 'grams of CO2 equivalent for a kWh';
COMMENT ON COLUMN perfmodel.carbon_intensity.source IS 'source of the figure';
COMMENT ON COLUMN perfmodel.carbon_intensity.builtin IS 'whether the row comes with the extension';
COMMENT ON COLUMN perfmodel.carbon_intensity.names IS 'other names of the region that questions may use; upper and lower case are the same';

INSERT INTO perfmodel.carbon_intensity (region, g_per_kwh, source, builtin, names)
SELECT region, g_per_kwh, 'Our World in Data, mean of 2021, as in github mlco2/codecarbon global_energy_mix.json', true, names::text[]
FROM (VALUES ('AUS', 531, '{Australia,AU}'), ('AUT', 148, '{Austria,AT}'), ('BEL', 157, '{Belgium,BE}'), ('BRA', 159, '{Brazil,BR}'),
             ('CHL', 417, '{Chile,CL}'), ('CHN', 544, '{China,CN}'), ('CZE', 406, '{Czechia,CZ,Czech Republic}'), ('DEU', 365, '{Germany,DE}'),
             ('DNK', 221, '{Denmark,DK}'), ('ESP', 194, '{Spain,ES}'), ('FRA', 67, '{France,FR}'),
             ('GBR', 268, '{United Kingdom,GB,UK,Great Britain}'), ('HKG', 684, '{Hong Kong,HK}'), ('IDN', 623, '{Indonesia,ID}'),
             ('IND', 637, '{India,IN}'), ('IRL', 364, '{Ireland,IE}'), ('ISL', 29, '{Iceland,IS}'), ('ISR', 548, '{Israel,IL}'),
             ('ITA', 341, '{Italy,IT}'), ('JPN', 479, '{Japan,JP}'), ('KOR', 458, '{South Korea,KR,Korea,Republic of Korea}'),
             ('NLD', 389, '{Netherlands,NL,The Netherlands}'), ('NOR', 28, '{Norway,NO}'), ('NZL', 132, '{New Zealand,NZ}'),
             ('POL', 660, '{Poland,PL}'), ('PRT', 219, '{Portugal,PT}'), ('TWN', 573, '{Taiwan,TW}'),
             ('USA', 379, '{United States,US,United States of America}'), ('ZAF', 716, '{South Africa,ZA}')) AS v (region, g_per_kwh, names);

CREATE FUNCTION perfmodel.check_price() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' AS $$
DECLARE
    other perfmodel.price;
    later tstzrange;
BEGIN
    IF NEW.kind <> ALL ('{on_demand,spot,own}') THEN
        RAISE EXCEPTION 'unknown kind of price "%"', left(NEW.kind, 64) USING ERRCODE = 'check_violation', SCHEMA = 'perfmodel', TABLE = 'price', CONSTRAINT = 'price_kind_known',
            DETAIL = 'kind says how the GPU is paid for.', HINT = 'Known are on_demand, spot and own.';
    ELSIF NOT NEW.usd_per_hour BETWEEN 0 AND 1e6 THEN
        RAISE EXCEPTION 'usd_per_hour must be between 0 and 1000000, not %', NEW.usd_per_hour
            USING ERRCODE = 'check_violation', SCHEMA = 'perfmodel', TABLE = 'price', CONSTRAINT = 'price_usd_per_hour_in_range',
            DETAIL = 'It is what an hour of one GPU costs, in US dollars.', HINT = 'For example: 2.49.';
    ELSIF isempty(NEW.valid) THEN
        RAISE EXCEPTION 'valid is an empty range' USING ERRCODE = 'check_violation', SCHEMA = 'perfmodel', TABLE = 'price', CONSTRAINT = 'price_valid_not_empty',
            DETAIL = 'It says from when to when the price holds.', HINT = 'For example: ''[2026-01-01,2026-07-01)'', or ''(,)'' for always.';
    END IF;
    -- The constraint refuses the row, or ON CONFLICT DO NOTHING skips it; a notice before it explains, where the role may read prices.
    IF NOT has_table_privilege('perfmodel.price', 'SELECT') THEN
        RETURN NEW;
    END IF;
    SELECT * INTO other FROM perfmodel.price AS p
    WHERE perfmodel.price_key(p.gpu, p.provider, p.region, p.kind) = perfmodel.price_key(NEW.gpu, NEW.provider, NEW.region, NEW.kind)
      AND p.valid && NEW.valid AND NOT (TG_OP = 'UPDATE' AND p.price_id = OLD.price_id)
    ORDER BY p.valid LIMIT 1;
    IF FOUND THEN
        -- what the other price still has to hold for after this one has ended
        later := other.valid - tstzrange(NULL, upper(NEW.valid), CASE WHEN upper_inc(NEW.valid) THEN '(]' ELSE '()' END);
        RAISE NOTICE 'two prices of "%" overlap', NEW.gpu USING
            DETAIL = format('Price %s, of %s US dollars (provider "%s", region "%s", kind %s), is valid in %s, and this one in %s.',
                            other.price_id, other.usd_per_hour, left(other.provider, 64), left(other.region, 64), other.kind, other.valid, NEW.valid),
            HINT = CASE WHEN (lower(NEW.valid) > lower(other.valid) OR lower_inf(other.valid) AND NOT lower_inf(NEW.valid)) AND NOT isempty(later)
                             THEN format('Split the older price, so that it holds again after this one: UPDATE perfmodel.price SET valid = tstzrange(lower(valid), %L) WHERE price_id = %s; '
                                         'INSERT INTO perfmodel.price (gpu, provider, region, kind, usd_per_hour, valid, source) '
                                         'SELECT gpu, provider, region, kind, usd_per_hour, %L, source FROM perfmodel.price WHERE price_id = %s;',
                                         lower(NEW.valid), other.price_id, later, other.price_id)
                        WHEN lower(NEW.valid) > lower(other.valid) OR lower_inf(other.valid) AND NOT lower_inf(NEW.valid)
                             THEN format('End the older price first: UPDATE perfmodel.price SET valid = tstzrange(lower(valid), %L) WHERE price_id = %s;', lower(NEW.valid), other.price_id)
                        WHEN lower(NEW.valid) < lower(other.valid) OR lower_inf(NEW.valid) AND NOT lower_inf(other.valid)
                             THEN format('Let this one end where the other begins: valid => tstzrange(%L, %L).', lower(NEW.valid), lower(other.valid))
                        WHEN NOT isempty(later)
                             THEN format('Let the older price begin where this one ends: UPDATE perfmodel.price SET valid = %L WHERE price_id = %s;', later, other.price_id)
                        ELSE format('Both begin at once. To correct the price that is there: UPDATE perfmodel.price SET usd_per_hour = %s WHERE price_id = %s;', NEW.usd_per_hour, other.price_id) END;
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION perfmodel.check_price() IS 'trigger: explains errors in a row of price';
REVOKE ALL ON FUNCTION perfmodel.check_price() FROM PUBLIC;
-- its name puts it before price_check, which compares names of devices
CREATE TRIGGER price_by_name BEFORE INSERT OR UPDATE OF gpu ON perfmodel.price
    FOR EACH ROW EXECUTE FUNCTION perfmodel.profile_gpu_by_name();
COMMENT ON TRIGGER price_by_name ON perfmodel.price IS 'replaces an alias of a device by its name';
CREATE TRIGGER price_check BEFORE INSERT OR UPDATE ON perfmodel.price
    FOR EACH ROW EXECUTE FUNCTION perfmodel.check_price();
COMMENT ON TRIGGER price_check ON perfmodel.price IS 'explains errors in a row';
CREATE TRIGGER price_forget_cached AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON perfmodel.price
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.forget_cached();
COMMENT ON TRIGGER price_forget_cached ON perfmodel.price IS 'makes sessions drop cached prices';
CREATE TRIGGER carbon_intensity_check_numbers BEFORE INSERT OR UPDATE ON perfmodel.carbon_intensity
    FOR EACH ROW EXECUTE FUNCTION perfmodel.check_numbers('carbon_intensity');
COMMENT ON TRIGGER carbon_intensity_check_numbers ON perfmodel.carbon_intensity IS 'explains which number is impossible';
CREATE TRIGGER carbon_intensity_forget_cached AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON perfmodel.carbon_intensity
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.forget_cached();
COMMENT ON TRIGGER carbon_intensity_forget_cached ON perfmodel.carbon_intensity IS 'makes sessions drop cached intensities';
ALTER TABLE perfmodel.price ENABLE ALWAYS TRIGGER price_forget_cached;
ALTER TABLE perfmodel.carbon_intensity ENABLE ALWAYS TRIGGER carbon_intensity_forget_cached;
CREATE TRIGGER price_forget_applied AFTER INSERT OR UPDATE OR DELETE ON perfmodel.price
    FOR EACH ROW EXECUTE FUNCTION perfmodel.forget_cached();
ALTER TABLE perfmodel.price ENABLE REPLICA TRIGGER price_forget_applied;
COMMENT ON TRIGGER price_forget_applied ON perfmodel.price IS 'like price_forget_cached, for rows that logical replication applies';
CREATE TRIGGER carbon_intensity_forget_applied AFTER INSERT OR UPDATE OR DELETE ON perfmodel.carbon_intensity
    FOR EACH ROW EXECUTE FUNCTION perfmodel.forget_cached();
ALTER TABLE perfmodel.carbon_intensity ENABLE REPLICA TRIGGER carbon_intensity_forget_applied;
COMMENT ON TRIGGER carbon_intensity_forget_applied ON perfmodel.carbon_intensity IS 'like carbon_intensity_forget_cached, for rows that logical replication applies';

SELECT pg_catalog.pg_extension_config_dump('perfmodel.price', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.price_price_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.carbon_intensity', 'WHERE NOT builtin');
GRANT SELECT ON perfmodel.price, perfmodel.carbon_intensity TO PUBLIC;
