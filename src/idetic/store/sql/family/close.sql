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

-- object: function {name}_alike_v1
-- as: guard
-- Persistent entries whose words are nearly those of a note. As the guard, because under RLS the
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
      AND m.archived_at IS NULL AND m.superseded_at IS NULL AND m.invalidated_at IS NULL
      AND m.deleted_at IS NULL AND m.body_text OPERATOR({trgm}.%) p_body
    ORDER BY m.body_text OPERATOR({trgm}.<->) p_body LIMIT 5;
END
$$;
GRANT EXECUTE ON FUNCTION {family}_alike_v1 TO {writers};
