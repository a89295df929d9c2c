-- object: function {family}_vector_kept_v1
-- A vector says what its entry said. One that was computed before its entry was emptied, and comes
-- to be stored after it, is left out. The row's lock makes the two wait for each other: without it
-- neither would see what the other has not committed.
CREATE OR REPLACE FUNCTION {vector_kept}() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    emptied boolean;
BEGIN
    SELECT m.digest_salt IS NULL INTO emptied FROM {memory} m
    WHERE {anchor_is_new_m} AND m.memory_id = NEW.memory_id FOR NO KEY UPDATE;
    IF emptied THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;

-- object: trigger {family}_memory_embeddings.vector_kept
CREATE OR REPLACE TRIGGER vector_kept BEFORE INSERT ON {embeddings}
    FOR EACH ROW EXECUTE FUNCTION {vector_kept}();

-- object: function {family}_erasable_v1
-- Who read an entry is forgotten only while that entry is being erased.
CREATE OR REPLACE FUNCTION {erasable}() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(current_setting('idetic.erasing', true), '') <> OLD.memory_id::text THEN
        RAISE EXCEPTION 'idetic.append_only: % on %.% is refused', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
            USING ERRCODE = 'ID001';
    END IF;
    RETURN OLD;
END
$$;

-- object: function {family}_forgotten_v1
-- The digest of a request is a hash of what was written, without a salt: whoever holds it can try
-- guesses. It may be emptied, and a key that names somebody replaced; nothing else of the row, and
-- not outside an erasure. The key stays taken, so that a late retry cannot write it all again.
CREATE OR REPLACE FUNCTION {forgotten}() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(current_setting('idetic.erasing', true), '') <> 'receipts' OR NEW.request_digest <> ''
        OR NOT (NEW.idempotency_key = OLD.idempotency_key OR NEW.idempotency_key LIKE 'erased %')
        OR to_jsonb(NEW) - ARRAY['request_digest', 'idempotency_key']
            <> to_jsonb(OLD) - ARRAY['request_digest', 'idempotency_key'] THEN
        RAISE EXCEPTION 'idetic.append_only: % on %.% is refused', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
            USING ERRCODE = 'ID001';
    END IF;
    RETURN NEW;
END
$$;

-- object: function {family}_erase_v1
-- as: keeper
-- Empty entries for good, whatever rests on them, and say what went from where. They are tombstones
-- by now: their caller has said so in the ledger, in this transaction. Beyond what `strip` takes,
-- the receipts of who read them go; of the requests that wrote them, the digests; and single notes
-- that name somebody, about entries that do not.
CREATE OR REPLACE FUNCTION {erase}({anchor_params}, p_ids uuid[], p_at timestamptz, p_noted uuid[],
    p_rows uuid[], p_digests bigint[], p_keys bigint[])
RETURNS TABLE (r_table text, r_ids text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    wanted uuid;
    gone text[];
BEGIN
    IF NOT coalesce({anchor_is_bound}, false) THEN
        RAISE EXCEPTION 'idetic.entry_not_found: this anchor is not bound' USING ERRCODE = 'ID006';
    END IF;
    -- In the order in which vectors are stored, and before they are counted.
    PERFORM FROM {memory} m WHERE {anchor_is_p_m} AND m.memory_id = ANY (p_ids)
    ORDER BY m.memory_id FOR NO KEY UPDATE;
    r_table := 'embeddings';
    SELECT array_agg(m.embedding_id::text ORDER BY m.embedding_id) INTO r_ids FROM {embeddings} m
    WHERE {anchor_is_p_m} AND m.memory_id = ANY (p_ids);
    RETURN NEXT;
    {erase_counted}
    PERFORM {strip}({anchor_p}, p_ids, p_at, false);
    r_table := 'reads';
    r_ids := NULL;
    FOREACH wanted IN ARRAY p_ids LOOP
        EXECUTE format('SET LOCAL idetic.erasing = %L', coalesce(wanted::text, ''));
        WITH deleted AS (
            DELETE FROM {reads} m WHERE {anchor_is_p_m} AND m.memory_id = wanted RETURNING m.read_id)
        SELECT array_agg(d.read_id::text) INTO gone FROM deleted d;
        r_ids := r_ids || gone;
    END LOOP;
    RETURN NEXT;
    FOREACH wanted IN ARRAY p_noted LOOP
        EXECUTE format('SET LOCAL idetic.erasing = %L', coalesce(wanted::text, ''));
        {erase_notes}
    END LOOP;
    SET LOCAL idetic.erasing = 'receipts';
    r_table := 'receipts';
    WITH emptied AS (
        UPDATE {receipts} m SET request_digest = '', idempotency_key = CASE
            WHEN m.position = ANY (p_keys) THEN 'erased ' || m.position ELSE m.idempotency_key END
        WHERE {anchor_is_p_m} AND m.position = ANY (p_digests || p_keys)
        RETURNING m.position)
    SELECT array_agg(e.position::text ORDER BY e.position) INTO r_ids FROM emptied e;
    RETURN NEXT;
    SET LOCAL idetic.erasing = '';
END
$$;
REVOKE EXECUTE ON FUNCTION {erase} FROM PUBLIC;
GRANT EXECUTE ON FUNCTION {erase} TO idetic_app;
