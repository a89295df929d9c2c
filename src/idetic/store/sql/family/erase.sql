-- object: function {name}_strip_v1
-- as: keeper
-- Take away what tombstones say: text, claim, words, vectors, notes about them, and the salt
-- without which nobody can try guesses against the hash that the ledger keeps. The rows stay, and
-- so do their references, lineage, actions and history. The caller knows the policy and says which
-- tombstones are old enough; here they must be that old, all of them or none is emptied.
-- One at a time, because each is named to the triggers: with a literal SET, which Citus passes on,
-- and which a failure takes back with all the rest.
CREATE OR REPLACE FUNCTION {family}_strip_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_ids uuid[], p_before timestamptz, p_keep_envelope boolean) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wanted uuid;
BEGIN
    IF NOT idetic.is_bound_v1(p_tenant::text, p_anchor) THEN
        RAISE EXCEPTION 'idetic.entry_not_found: this anchor is not bound' USING ERRCODE = 'ID006';
    END IF;
    PERFORM {family}_unindex_v1(p_tenant, p_anchor, p_ids, NULL, NULL);
    FOREACH wanted IN ARRAY p_ids LOOP
        EXECUTE format('SET LOCAL idetic.erasing = %L', coalesce(wanted::text, ''));
        UPDATE {family}_memory m SET body_text = '', lexemes = '',
            envelope = CASE WHEN p_keep_envelope THEN m.envelope - 'claim' - 'speaker' ELSE '{}' END,
            claim_subject = NULL, claim_attribute = NULL, claim_value = NULL,
            digest_salt = NULL, embedding_id = NULL
        WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.memory_id = wanted
          AND m.deleted_at <= p_before;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'idetic.transition: entry % is no tombstone whose grace is over', wanted
                USING ERRCODE = 'ID007';
        END IF;
        DELETE FROM {family}_memory_embeddings m
        WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.memory_id = wanted;
        -- for each noted:
        UPDATE {table} m SET {no_notes}
        WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.memory_id = wanted;
        -- end
    END LOOP;
    SET LOCAL idetic.erasing = '';
    RETURN cardinality(p_ids);
END
$$;
GRANT EXECUTE ON FUNCTION {family}_strip_v1 TO {steward};

-- object: function {name}_erase_v1
-- as: keeper
-- Empty entries for good, whatever rests on them, and say what went from where. They are tombstones
-- by now: their caller has said so in the ledger, in this transaction. Beyond what `strip` takes,
-- the receipts of who read them go; of the requests that wrote them, the digests; and single notes
-- that name somebody, about entries that do not.
CREATE OR REPLACE FUNCTION {family}_erase_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_ids uuid[], p_at timestamptz, p_noted uuid[], p_rows uuid[], p_digests bigint[], p_keys bigint[])
RETURNS TABLE (r_table text, r_ids text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    wanted uuid;
    gone text[];
BEGIN
    IF NOT idetic.is_bound_v1(p_tenant::text, p_anchor) THEN
        RAISE EXCEPTION 'idetic.entry_not_found: this anchor is not bound' USING ERRCODE = 'ID006';
    END IF;
    -- In the order in which vectors are stored, and before they are counted.
    PERFORM FROM {family}_memory m
    WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.memory_id = ANY (p_ids)
    ORDER BY m.memory_id FOR NO KEY UPDATE;
    r_table := 'embeddings';
    SELECT array_agg(m.embedding_id::text ORDER BY m.embedding_id) INTO r_ids FROM {family}_memory_embeddings m
    WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.memory_id = ANY (p_ids);
    RETURN NEXT;
    -- for each noted:
    r_table := '{noted}';
    SELECT array_agg(m.{row_id}::text ORDER BY m.{row_id}) INTO r_ids FROM {table} m
    WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND num_nonnulls({notes}) > 0
      AND (m.memory_id = ANY (p_ids) OR m.memory_id = ANY (p_noted) AND m.{row_id} = ANY (p_rows));
    RETURN NEXT;
    -- end
    PERFORM {family}_strip_v1(p_tenant, p_anchor, p_ids, p_at, false);
    r_table := 'reads';
    r_ids := NULL;
    FOREACH wanted IN ARRAY p_ids LOOP
        EXECUTE format('SET LOCAL idetic.erasing = %L', coalesce(wanted::text, ''));
        WITH deleted AS (
            DELETE FROM {family}_memory_reads m
            WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.memory_id = wanted
            RETURNING m.read_id)
        SELECT array_agg(d.read_id::text) INTO gone FROM deleted d;
        r_ids := r_ids || gone;
    END LOOP;
    RETURN NEXT;
    FOREACH wanted IN ARRAY p_noted LOOP
        EXECUTE format('SET LOCAL idetic.erasing = %L', coalesce(wanted::text, ''));
        -- for each noted:
        UPDATE {table} m SET {no_notes}
        WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.memory_id = wanted
          AND m.{row_id} = ANY (p_rows);
        -- end
    END LOOP;
    SET LOCAL idetic.erasing = 'receipts';
    r_table := 'receipts';
    WITH emptied AS (
        UPDATE {family}_memory_receipts m SET request_digest = '', salt = '', idempotency_key = CASE
            WHEN m.position = ANY (p_keys) THEN 'erased ' || m.position ELSE m.idempotency_key END
        WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor
          AND m.position = ANY (p_digests || p_keys)
        RETURNING m.position)
    SELECT array_agg(e.position::text ORDER BY e.position) INTO r_ids FROM emptied e;
    RETURN NEXT;
    SET LOCAL idetic.erasing = '';
END
$$;
GRANT EXECUTE ON FUNCTION {family}_erase_v1 TO {steward};

-- object: function {name}_erase_rest_v1
-- as: keeper
-- What an anchor still holds once all of its entries are empty: who read what, also of entries that
-- went with their scope; and the keys and digests of requests. A key that an erasure itself was
-- asked under stays, so that its repeat is recognised.
CREATE OR REPLACE FUNCTION {family}_erase_rest_v1(p_tenant {tenant_type}, p_anchor uuid)
RETURNS TABLE (r_table text, r_count bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF NOT idetic.is_bound_v1(p_tenant::text, p_anchor) THEN
        RAISE EXCEPTION 'idetic.entry_not_found: this anchor is not bound' USING ERRCODE = 'ID006';
    END IF;
    IF EXISTS (SELECT FROM {family}_memory m WHERE m.{tenant} = p_tenant
               AND m.anchor_id = p_anchor AND m.digest_salt IS NOT NULL) THEN
        RAISE EXCEPTION 'idetic.transition: this anchor has entries that are not empty'
            USING ERRCODE = 'ID007';
    END IF;
    SET LOCAL idetic.erasing = 'reads';
    r_table := 'reads';
    DELETE FROM {family}_memory_reads m WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor;
    GET DIAGNOSTICS r_count = ROW_COUNT;
    RETURN NEXT;
    SET LOCAL idetic.erasing = 'receipts';
    r_table := 'receipts';
    UPDATE {family}_memory_receipts m
    SET request_digest = '', salt = '', idempotency_key = 'erased ' || m.position
    WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor
      AND (m.request_digest <> '' OR m.idempotency_key <> 'erased ' || m.position)
      AND NOT EXISTS (SELECT FROM {family}_memory_ledger l WHERE l.{tenant} = p_tenant
                      AND l.anchor_id = p_anchor AND l.position = m.position
                      AND l.transition = 'erasure');
    GET DIAGNOSTICS r_count = ROW_COUNT;
    RETURN NEXT;
    SET LOCAL idetic.erasing = '';
END
$$;
GRANT EXECUTE ON FUNCTION {family}_erase_rest_v1 TO {steward};

-- object: function {name}_unsay_v1
-- as: keeper
-- Empty the reasons that links give: of those about some entries, or of all where none are named.
-- Somebody may have quoted there what is to be forgotten. Each link keeps its hash, which the next
-- one follows; its caller says in the chain what is left of those links, in this transaction. Why
-- something was erased stays.
CREATE OR REPLACE FUNCTION {family}_unsay_v1(p_tenant {tenant_type}, p_anchor uuid, p_ids uuid[])
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    unsaid bigint;
BEGIN
    IF NOT idetic.is_bound_v1(p_tenant::text, p_anchor) THEN
        RAISE EXCEPTION 'idetic.entry_not_found: this anchor is not bound' USING ERRCODE = 'ID006';
    END IF;
    SET LOCAL idetic.erasing = 'ledger';
    UPDATE {family}_memory_ledger l SET reason = '[erased]'
    WHERE l.{tenant} = p_tenant AND l.anchor_id = p_anchor AND l.reason <> '[erased]'
      AND l.transition <> 'erased' AND l.transition <> 'erasure'
      AND (p_ids IS NULL OR l.memory_id = ANY (p_ids));
    GET DIAGNOSTICS unsaid = ROW_COUNT;
    SET LOCAL idetic.erasing = '';
    RETURN unsaid;
END
$$;
GRANT EXECUTE ON FUNCTION {family}_unsay_v1 TO {steward};

-- object: function {name}_unsay_links_v1
-- as: keeper
-- The same for some links by their positions, whichever entry they are about: those whose reason
-- names somebody. Gives back which were emptied; why something was erased stays here too.
CREATE OR REPLACE FUNCTION {family}_unsay_links_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_positions bigint[])
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT idetic.is_bound_v1(p_tenant::text, p_anchor) THEN
        RAISE EXCEPTION 'idetic.entry_not_found: this anchor is not bound' USING ERRCODE = 'ID006';
    END IF;
    SET LOCAL idetic.erasing = 'ledger';
    RETURN QUERY UPDATE {family}_memory_ledger l SET reason = '[erased]'
        WHERE l.{tenant} = p_tenant AND l.anchor_id = p_anchor AND l.reason <> '[erased]'
          AND l.transition <> 'erased' AND l.transition <> 'erasure'
          AND l.position = ANY (p_positions)
        RETURNING l.position;
    SET LOCAL idetic.erasing = '';
END
$$;
GRANT EXECUTE ON FUNCTION {family}_unsay_links_v1 TO {steward};
