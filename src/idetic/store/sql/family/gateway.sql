-- object: function {family}_head_v1
-- Take the anchor, hold it to commit, and give the end of its chain. Everything that writes takes
-- the anchor first, so two writers of one anchor never interleave and never deadlock; positions
-- are then gapless and ordered by commit, which sequences are not. The first write of an anchor
-- records the anchor, with position zero and the chain's genesis.
CREATE OR REPLACE FUNCTION {head}({anchor_params}) RETURNS {anchors}
LANGUAGE plpgsql AS $$
DECLARE
    head {anchors};
    {root_declare}
BEGIN
    PERFORM pg_advisory_xact_lock({lock_key});
    SELECT a.* INTO head FROM {anchors} a WHERE {anchor_is_p_a};
    IF NOT FOUND THEN
        {root_lookup}
        INSERT INTO {anchors} ({anchor}, {root_column} position, hash, at)
        VALUES ({anchor_p}, {root_value} 0,
                idetic.genesis_hash_v1({family_text}, jsonb_build_array({anchor_p})), '-infinity');
        SELECT a.* INTO head FROM {anchors} a WHERE {anchor_is_p_a};
    END IF;
    RETURN head;
END
$$;

-- object: function {family}_append_v1
-- One link: the position after the head, a hash over the head's. Moves the anchor's end to it.
CREATE OR REPLACE FUNCTION {append}(
    head {anchors}, p_receipt uuid, p_at timestamptz, p_transition text, p_decision idetic.decision,
    p_memory uuid, p_actor jsonb, p_reason text, p_from text, p_to text, p_detail jsonb
) RETURNS {ledger}
LANGUAGE plpgsql AS $$
DECLARE
    link {ledger};
BEGIN
    {link_anchor_assign}
    link.position := head.position + 1;
    link.receipt_id := p_receipt;
    link.at := greatest(p_at, head.at);
    link.transition := p_transition;
    link.decision := p_decision;
    link.memory_id := p_memory;
    link.actor_kind := (p_actor ->> 'kind')::idetic.principal;
    link.actor := p_actor ->> 'name';
    link.reason := p_reason;
    link.state_from := p_from;
    link.state_to := p_to;
    link.detail := coalesce(p_detail, '{{}}');
    link.prev_hash := head.hash;
    link.hash := sha256(head.hash || idetic.link_content_v1(
        link.position, link.receipt_id, link.at, link.transition, link.decision,
        link.memory_id, link.actor_kind, link.actor, link.reason, link.state_from, link.state_to,
        link.detail));
    INSERT INTO {ledger} VALUES (link.*);
    UPDATE {anchors} a SET position = link.position, hash = link.hash, at = link.at
    WHERE {anchor_is_head_a};
    RETURN link;
END
$$;

-- object: function {family}_replay_v1
-- The ledger row an idempotency key stands for, or nothing. Another body under the same key
-- is refused. Safe without a unique-violation dance: the caller holds the anchor.
CREATE OR REPLACE FUNCTION {replay}({anchor_params}, p_key text, p_digest bytea)
RETURNS SETOF {ledger}
LANGUAGE plpgsql AS $$
DECLARE
    known record;
BEGIN
    SELECT r.request_digest, r.position INTO known
    FROM {receipts} r WHERE {anchor_is_p_r} AND r.idempotency_key = p_key;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF known.request_digest <> p_digest THEN
        RAISE EXCEPTION 'idetic.idempotency_conflict: the key was used with another body'
            USING ERRCODE = 'ID002';
    END IF;
    RETURN QUERY SELECT l.* FROM {ledger} l WHERE {anchor_is_p_l} AND l.position = known.position;
END
$$;

-- object: function {family}_check_scope_v1
-- A session or interaction that takes a write is open. No row lock is needed for it to stay so
-- until the write commits: closing takes the anchor first, and the caller holds it.
CREATE OR REPLACE FUNCTION {check_scope}({anchor_params}, p_session uuid, p_interaction uuid)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    open_ones integer;
BEGIN
    SELECT count(*) INTO open_ones FROM {scopes} s
    WHERE {anchor_is_p_s} AND s.scope_id = ANY (ARRAY[p_session, p_interaction])
      AND s.session_id = p_session AND s.closed_at IS NULL;
    IF open_ones <> 1 + (p_interaction IS NOT NULL)::integer THEN
        RAISE EXCEPTION 'idetic.scope_closed: the session or interaction is closed or unknown'
            USING ERRCODE = 'ID003';
    END IF;
END
$$;
