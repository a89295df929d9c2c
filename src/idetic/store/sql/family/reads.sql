-- object: function {name}_read_v1
-- Record that entries were put before somebody: at a session, or where `p_session` is NULL beside all
-- that the same principal has open, however many those are. With `p_always` also where none is: it
-- counts for what is opened within the hour.
CREATE OR REPLACE FUNCTION {family}_read_v1(p_tenant {tenant_type}, p_anchor uuid, p_read uuid,
    p_ids uuid[], p_always boolean, p_session uuid, p_interaction uuid, p_at timestamptz, p_by text)
RETURNS void LANGUAGE plpgsql AS $$
-- if citus:
DECLARE
    one uuid;
-- end
BEGIN
    IF p_always OR p_session IS NOT NULL OR EXISTS (
        SELECT FROM {family}_memory_scopes s
        WHERE s.{tenant} = p_tenant AND s.anchor_id = p_anchor AND s.closed_at IS NULL
          AND s.opened_by = p_by)
    THEN
        -- if plain:
        INSERT INTO {family}_memory_reads ({tenant}, anchor_id, read_id, memory_id, session_id,
            interaction_id, read_at, read_by)
        SELECT p_tenant, p_anchor, p_read, shown.memory_id, p_session, p_interaction, p_at, p_by
        FROM unnest(p_ids) AS shown (memory_id);
        -- end
        -- if citus:
        -- One by one: Citus takes no INSERT … SELECT FROM unnest() under row-level security.
        FOREACH one IN ARRAY p_ids LOOP
            INSERT INTO {family}_memory_reads ({tenant}, anchor_id, read_id, memory_id, session_id,
                interaction_id, read_at, read_by)
            VALUES (p_tenant, p_anchor, p_read, one, p_session, p_interaction, p_at, p_by);
        END LOOP;
        -- end
    END IF;
END
$$;
GRANT EXECUTE ON FUNCTION {family}_read_v1 TO {writers};

-- object: function {name}_was_shown_v1
-- Whether anything was put before one of some sessions: at it, or beside it to whoever opened it,
-- also in the hour before.
CREATE OR REPLACE FUNCTION {family}_was_shown_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_sessions uuid[]) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM {family}_memory_reads r
        WHERE r.{tenant} = p_tenant AND r.anchor_id = p_anchor AND r.session_id = ANY (p_sessions))
    OR EXISTS (
        SELECT FROM {family}_memory_scopes s
        WHERE s.{tenant} = p_tenant AND s.anchor_id = p_anchor AND s.scope_id = ANY (p_sessions)
          AND EXISTS (
            SELECT FROM {family}_memory_reads r
            WHERE r.{tenant} = p_tenant AND r.anchor_id = p_anchor AND r.session_id IS NULL
              AND r.read_by = s.opened_by AND r.read_at > s.opened_at - interval '1 hour'));
END
$$;
GRANT EXECUTE ON FUNCTION {family}_was_shown_v1 TO {writers};
