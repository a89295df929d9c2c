-- object: function {family}_take_{noun_name}_v1
-- as: mover
-- Take rows of an export into one table of an anchor that has no memory yet. They come as they left
-- elsewhere, with ids, states and hashes; the anchor is the bound one, whatever they say, and what
-- can be derived is derived anew. Row by row, which Citus does too. Nothing here judges the rows:
-- whoever calls walks the chain over them before the transaction commits.
CREATE OR REPLACE FUNCTION {take}({anchor_params}, p_rows jsonb, p_without text[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    item jsonb;
    made {table};
    stands {anchors};
BEGIN
    {take_checks}
    FOR item IN SELECT e.value FROM jsonb_array_elements(p_rows) AS e (value) LOOP
        made := jsonb_populate_record(NULL::{table}, item - p_without);
        {made_of_anchor}
        INSERT INTO {table} VALUES (made.*);
    END LOOP;
    RETURN jsonb_array_length(p_rows);
END
$$;
REVOKE EXECUTE ON FUNCTION {take} FROM PUBLIC;
GRANT EXECUTE ON FUNCTION {take} TO idetic_app;
