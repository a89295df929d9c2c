-- object: function {family}_admit_v1
-- Admit entries: the one way a memory row comes to be. One call, one transaction, one round
-- trip, whether for one entry or a thousand. Per item, in order: what is already decided about
-- it (a replay, a NOOP, a refusal), the row, its references, its link in the ledger.
--
-- Written for few statements and few expressions: PL/pgSQL prepares each of them anew in every
-- transaction, and that, not the writing, was most of the cost. Rows go in one at a time: Citus
-- refuses INSERT … SELECT FROM jsonb under RLS.
CREATE OR REPLACE FUNCTION {admit}({anchor_params}, p_at timestamptz, p_kind idetic.principal,
    p_name text, p_session uuid, p_interaction uuid, p_version integer, p_careful boolean,
    p_items jsonb)
RETURNS TABLE (r_receipt uuid, r_decision idetic.decision, r_reason text, r_position bigint,
               r_at timestamptz, r_memory uuid, r_detail jsonb)
LANGUAGE plpgsql AS $$
DECLARE
    item record;
    known record;
    head_position bigint;
    head_hash bytea;
    stamp timestamptz;
    open_ones integer;
    {root_declare}
BEGIN
    SELECT h.position, h.hash, greatest(h.at, p_at) {head_root} INTO head_position, head_hash, stamp {root_target}
    FROM {heads} h WHERE {anchor_is_p_h} FOR UPDATE;
    IF NOT FOUND THEN
        SELECT h.position, h.hash, greatest(h.at, p_at) {head_root} INTO head_position, head_hash, stamp {root_target}
        FROM {lock_head}({anchor_p}) h;
    END IF;
    IF p_session IS NOT NULL THEN
        -- The statement of {check_scope_name}, here for the sake of one call less.
        SELECT count(*) INTO open_ones FROM {scopes} s
        WHERE {anchor_is_p_s} AND s.scope_id = ANY (ARRAY[p_session, p_interaction])
          AND s.session_id = p_session AND s.closed_at IS NULL;
        IF open_ones <> 1 + (p_interaction IS NOT NULL)::integer THEN
            RAISE EXCEPTION 'idetic.scope_closed: the session or interaction is closed or unknown'
                USING ERRCODE = 'ID003';
        END IF;
    END IF;

    FOR item IN SELECT x.*, coalesce(
            x.key IS NOT NULL OR x.refs IS NOT NULL OR x.supersede OR p_careful, false) AS special
        FROM jsonb_to_recordset(p_items) AS x(
        receipt uuid, memory uuid, transition text, tier idetic.tier, typology idetic.typology,
        body text, envelope jsonb, claim jsonb, provenance jsonb, origin idetic.origin,
        trust smallint, valid_at timestamptz, invalid_at timestamptz, salt text, hash text,
        detail jsonb, supersede boolean, key text, digest text, refs jsonb)
    LOOP
        IF NOT item.special THEN
            {insert_memory}
            {link_added}
            RETURN NEXT;
            CONTINUE;
        END IF;

        SELECT a.* INTO known
        FROM {answer}({anchor_p}, to_jsonb(item), {root_or_null}, coalesce(p_careful, false)) a;
        IF known.replay IS NOT NULL THEN
            SELECT l.receipt_id, l.decision, l.reason, l.position, l.at, l.memory_id, l.detail
            INTO r_receipt, r_decision, r_reason, r_position, r_at, r_memory, r_detail
            FROM {ledger} l WHERE {anchor_is_p_l} AND l.position = known.replay;
            RETURN NEXT;
            CONTINUE;
        END IF;
        IF known.decision IS NOT NULL THEN
            {link_known}
        ELSE
            {insert_memory}
            IF item.refs IS NOT NULL THEN
                PERFORM {refer}({anchor_p}, item.memory, item.refs, item.provenance, {root_or_null},
                                stamp);
            END IF;
            IF known.old_id IS NULL THEN
                {link_added}
            ELSE
                UPDATE {memory} m SET superseded_at = stamp, superseded_by = item.memory
                WHERE {anchor_is_p_m} AND m.memory_id = known.old_id;
                {link_superseded}
                {link_superseding}
            END IF;
        END IF;
        IF item.key IS NOT NULL THEN
            INSERT INTO {receipts} ({anchor}, idempotency_key, request_digest, position)
            VALUES ({anchor_p}, item.key, decode(item.digest, 'hex'), head_position);
        END IF;
        RETURN NEXT;
    END LOOP;
    UPDATE {heads} h SET position = head_position, hash = head_hash, at = stamp
    WHERE {anchor_is_p_h};
END
$$;

-- object: function {family}_answer_v1
-- What is already decided about an item before it is written: a replay, a NOOP, a refusal, or
-- only which entry it will supersede.
CREATE OR REPLACE FUNCTION {answer}({anchor_params}, item jsonb, root_key uuid, careful boolean)
RETURNS TABLE (replay bigint, decision idetic.decision, reason text, same_id uuid, state text,
               detail jsonb, old_id uuid)
LANGUAGE plpgsql AS $$
DECLARE
    prior record;
    hit record;
BEGIN
    detail := '{{}}';
    IF item ->> 'key' IS NOT NULL THEN
        SELECT r.position INTO replay
        FROM {replay}({anchor_p}, item ->> 'key', decode(item ->> 'digest', 'hex')) r;
        IF replay IS NOT NULL THEN
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;
    IF (item ->> 'supersede')::boolean THEN
        SELECT m.memory_id, m.claim_value INTO prior FROM {memory} m
        WHERE {anchor_is_p_m} AND m.tier = (item ->> 'tier')::idetic.tier
          AND m.typology = (item ->> 'typology')::idetic.typology
          AND m.archived_at IS NULL AND m.superseded_at IS NULL AND m.invalidated_at IS NULL
          AND m.deleted_at IS NULL
          AND CASE WHEN item #>> '{{claim,subject}}' IS NOT NULL
              THEN m.claim_subject = item #>> '{{claim,subject}}'
               AND m.claim_attribute = item #>> '{{claim,attribute}}'
              ELSE m.claim_subject IS NULL AND m.body_text = item ->> 'body' END
        ORDER BY m.memory_id DESC LIMIT 1;
        IF FOUND AND prior.claim_value IS NOT DISTINCT FROM item #>> '{{claim,value}}' THEN
            decision := 'NOOP';
            reason := 'already stated';
            same_id := prior.memory_id;
            state := 'current';
            RETURN NEXT;
            RETURN;
        ELSIF FOUND THEN
            old_id := prior.memory_id;
        END IF;
    END IF;
    IF careful THEN
        {careful_guard}
        IF hit.canonical_id IS NOT NULL THEN
            decision := 'REJECT';
            reason := 'shadow';
            detail := jsonb_build_object('noun', hit.noun, 'id', hit.canonical_id,
                'similarity', hit.similarity, 'length', char_length(item ->> 'body'));
        END IF;
    END IF;
    RETURN NEXT;
END
$$;

-- object: function {family}_refer_v1
-- Write an entry's references. Each must exist; without a version the current one is pinned.
CREATE OR REPLACE FUNCTION {refer}({anchor_params}, p_memory uuid, p_refs jsonb, p_provenance jsonb,
                                   root_key uuid, p_at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    ref record;
    pin integer;
BEGIN
    FOR ref IN SELECT * FROM jsonb_to_recordset(p_refs)
        AS x(noun text, ref_id uuid, id uuid, version integer)
    LOOP
        {insert_refs}
    END LOOP;
END
$$;
