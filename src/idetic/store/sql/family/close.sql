-- object: function {family}_release_v1
-- A row that belongs to an entry (a reference, a corroboration, a vector, its lineage) goes only
-- with that entry, when the transient scope it lived in closes; or when the entry is emptied.
CREATE OR REPLACE FUNCTION {release}() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    owner record;
BEGIN
    IF OLD.memory_id::text = current_setting('idetic.erasing', true) THEN
        RETURN OLD;
    END IF;
    -- By its key alone: with the tier among the conditions, tables that nobody has analysed yet are
    -- searched through the index of everything transient, once for each row that goes.
    SELECT m.tier, m.session_id INTO owner FROM {memory} m
    WHERE {anchor_is_old_m} AND m.memory_id = OLD.memory_id;
    IF (owner.tier <> 'persistent'
        AND owner.session_id::text = current_setting('idetic.closing', true)) IS NOT TRUE THEN
        RAISE EXCEPTION 'idetic.append_only: DELETE on %.% is refused', TG_TABLE_SCHEMA, TG_TABLE_NAME
            USING ERRCODE = 'ID001';
    END IF;
    RETURN OLD;
END
$$;

-- object: function {family}_drop_v1
-- as: keeper
-- Remove the transient entries that a closing scope leaves behind, with what belongs to them. The
-- application has no right to delete anything; this has, and the triggers still look at every row:
-- transient, of the session being closed, no action resting on it.
CREATE OR REPLACE FUNCTION {drop}({anchor_params}, p_ids uuid[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    gone integer;
BEGIN
    {drop_belongings}
    DELETE FROM {memory} m WHERE {anchor_is_p_m} AND m.memory_id = ANY (p_ids);
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END
$$;
REVOKE EXECUTE ON FUNCTION {drop} FROM PUBLIC;
GRANT EXECUTE ON FUNCTION {drop} TO idetic_app;

-- object: index {family}_memory_alike
-- Persistent notes by their trigrams, for the look-up below. Transient ones are not in it: they
-- are many, short-lived, and compared in memory when their scope closes.
CREATE INDEX {i_alike} ON {memory}
    USING gist ({anchor}, body_text {trgm_schema}.gist_trgm_ops (siglen = 256))
    WHERE tier = 'persistent';

-- object: function {family}_alike_v1
-- as: guard
-- Persistent entries whose words are nearly those of a note. As the guard, because under RLS the
-- application role cannot use a trigram index; so it checks the bound anchor itself.
CREATE OR REPLACE FUNCTION {alike}({anchor_params}, p_body text)
RETURNS TABLE (memory_id uuid, similarity real)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET pg_trgm.similarity_threshold = {dedup_trigram}
SET plan_cache_mode = force_generic_plan
SET enable_sort = off
AS $$
#variable_conflict use_column
BEGIN
    IF NOT coalesce({anchor_is_bound}, false) THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT m.memory_id, {trgm_schema}.similarity(m.body_text, p_body) FROM {memory} m
    WHERE {anchor_is_p_m} AND m.tier = 'persistent'
      AND m.archived_at IS NULL AND m.superseded_at IS NULL AND m.invalidated_at IS NULL
      AND m.deleted_at IS NULL AND m.body_text OPERATOR({trgm_schema}.%) p_body
    ORDER BY m.body_text OPERATOR({trgm_schema}.<->) p_body LIMIT 5;
END
$$;
REVOKE EXECUTE ON FUNCTION {alike} FROM PUBLIC;
GRANT EXECUTE ON FUNCTION {alike} TO idetic_app;
