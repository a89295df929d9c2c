-- object: function {name}_drop_v1
-- as: keeper
-- Remove the transient entries that a closing scope leaves behind, with what belongs to them. The
-- application has no right to delete anything; this has, and the triggers still look at every row:
-- transient, of the session being closed, no action resting on it.
CREATE OR REPLACE FUNCTION {family}_drop_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_ids uuid[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    gone integer;
BEGIN
    PERFORM {family}_unindex_v1(p_tenant, p_anchor, p_ids, NULL, NULL);
    -- for each belonging:
    DELETE FROM {table} m
    WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.memory_id = ANY (p_ids);
    -- end
    DELETE FROM {family}_memory m
    WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.memory_id = ANY (p_ids);
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END
$$;
GRANT EXECUTE ON FUNCTION {family}_drop_v1 TO {writers};

-- object: function {name}_witness_v1
-- as: keeper
-- Mark the reads that no link tells of yet with the position of the one that will, and give what it
-- says of them: how many, and a hash over all. Some at a time, so that nobody waits for long; whoever
-- calls holds the anchor. Reads come from everywhere at once and take no lock: one that commits
-- later is told by the next link.
CREATE OR REPLACE FUNCTION {family}_witness_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_position bigint) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last uuid;
    told jsonb;
BEGIN
    IF NOT idetic.is_bound_v1(p_tenant::text, p_anchor) THEN
        RAISE EXCEPTION 'idetic.entry_not_found: this anchor is not bound' USING ERRCODE = 'ID006';
    END IF;
    SELECT u.read_id INTO last FROM (
        SELECT r.read_id FROM {family}_memory_reads r
        WHERE r.{tenant} = p_tenant AND r.anchor_id = p_anchor AND r.witness IS NULL
        ORDER BY r.read_id LIMIT 10000) u
    ORDER BY u.read_id DESC LIMIT 1;
    IF last IS NULL THEN
        RETURN '{}';
    END IF;
    WITH seen AS (
        UPDATE {family}_memory_reads r SET witness = p_position
        WHERE r.{tenant} = p_tenant AND r.anchor_id = p_anchor AND r.witness IS NULL
          AND r.read_id <= last
        RETURNING r.read_id, r.memory_id, idetic.read_content_v1(r.read_id, r.memory_id,
            r.session_id, r.interaction_id, r.read_at, r.read_by) AS content)
    SELECT jsonb_build_object('reads', jsonb_build_object('count', count(*), 'sha256',
        encode(sha256(convert_to(string_agg(s.content, '' ORDER BY s.read_id, s.memory_id), 'UTF8')), 'hex')))
    INTO told FROM seen s;
    RETURN told;
END
$$;
GRANT EXECUTE ON FUNCTION {family}_witness_v1 TO {writers};

-- object: function {name}_alike_v1
-- as: guard
-- Persistent episodes and facts whose words are nearly those of a note. As the guard, because under RLS the
-- application role cannot use a trigram index; so it checks the bound anchor itself.
CREATE OR REPLACE FUNCTION {family}_alike_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_body text)
RETURNS TABLE (memory_id uuid, similarity real)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET pg_trgm.similarity_threshold = {dedup_trigram}
-- if plain:
SET plan_cache_mode = force_generic_plan
-- end
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    IF NOT idetic.is_bound_v1(p_tenant::text, p_anchor) THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT m.memory_id, {trgm}.similarity(m.body_text, p_body) FROM {family}_memory m
    WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.tier = 'persistent'
      AND m.typology <> 'procedural' AND m.archived_at IS NULL AND m.superseded_at IS NULL AND m.invalidated_at IS NULL
      AND m.deleted_at IS NULL AND m.body_text OPERATOR({trgm}.%) p_body
    ORDER BY m.body_text OPERATOR({trgm}.<->) p_body LIMIT 5;
END
$$;
GRANT EXECUTE ON FUNCTION {family}_alike_v1 TO {writers};

-- object: function {name}_worded_v1
-- as: guard
-- Persistent entries that have the words of some texts, in any order: an equality look-up, without a
-- model. As the guard, for the reason above.
CREATE OR REPLACE FUNCTION {family}_worded_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_bodies text[])
RETURNS TABLE (number integer, memory_id uuid)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- if plain:
SET plan_cache_mode = force_generic_plan
-- end
SET enable_seqscan = off
SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    IF NOT idetic.is_bound_v1(p_tenant::text, p_anchor) THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT u.n::integer, found.memory_id
    FROM unnest(p_bodies) WITH ORDINALITY AS u (body, n) CROSS JOIN LATERAL (
        SELECT m.memory_id FROM {family}_memory m
        WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.tier = 'persistent'
          AND m.archived_at IS NULL AND m.superseded_at IS NULL AND m.invalidated_at IS NULL
          AND m.deleted_at IS NULL
          AND idetic.words_key_v1(m.body_text) = idetic.words_key_v1(u.body)
        ORDER BY m.memory_id LIMIT 20) found;
END
$$;
GRANT EXECUTE ON FUNCTION {family}_worded_v1 TO {writers};
