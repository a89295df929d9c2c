-- object: function {name}_read_v1
-- Record that entries were put before somebody: at a session, or, with `p_open`, at each session that
-- the same principal has open. Each gets a receipt of its own, in the order of `p_reads`.
CREATE OR REPLACE FUNCTION {family}_read_v1(p_tenant {tenant_type}, p_anchor uuid, p_reads uuid[],
    p_ids uuid[], p_open boolean, p_session uuid, p_interaction uuid, p_at timestamptz, p_by text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO {family}_memory_reads ({tenant}, anchor_id, read_id, memory_id, session_id,
        interaction_id, read_at, read_by)
    SELECT p_tenant, p_anchor, p_reads[place.number], shown.memory_id, place.session_id,
        p_interaction, p_at, p_by
    FROM (
        SELECT p_session AS session_id, 1 AS number WHERE NOT p_open
        UNION ALL
        SELECT s.scope_id, row_number() OVER () FROM (
            SELECT s.scope_id FROM {family}_memory_scopes s
            WHERE s.{tenant} = p_tenant AND s.anchor_id = p_anchor AND s.closed_at IS NULL
              AND s.tier = 'session' AND s.opened_by = p_by AND p_open
            ORDER BY s.opened_at DESC LIMIT cardinality(p_reads)) s) AS place
    CROSS JOIN unnest(p_ids) AS shown (memory_id);
END
$$;
GRANT EXECUTE ON FUNCTION {family}_read_v1 TO {writers};
