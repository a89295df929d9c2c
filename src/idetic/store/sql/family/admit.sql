-- object: function {family}_admit_v1
-- Admit entries: the one way a memory row comes to be. One call, one transaction, one round
-- trip, whether for one entry or a thousand. Per item, in order: what is already decided about
-- it (a replay, a NOOP, a refusal), the row, its references, its link in the ledger.
--
-- Written for few statements and few expressions: PL/pgSQL prepares each of them anew in every
-- transaction, and that, not the writing, was most of the cost. When the caller says that all
-- items are plain (no key, references or conflict to look into) they go in with one statement.
-- On Citus that lane is left out, because it refuses INSERT … SELECT FROM a function under RLS;
-- the loop below then does the same, row by row.
-- For an item that is simply added only position and time come back; the rest is as asked.
CREATE OR REPLACE FUNCTION {admit}({anchor_params}, p_at timestamptz, p_kind idetic.principal,
    p_name text, p_session uuid, p_interaction uuid, p_version integer, p_careful boolean,
    p_plain boolean, p_items jsonb)
RETURNS TABLE (r_position bigint, r_at timestamptz, r_receipt uuid, r_decision idetic.decision,
               r_reason text, r_memory uuid, r_detail jsonb)
-- Every look-up here is by primary key; planned for each call, the first took longer than all else.
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    item record;
    known record;
    open_ones bigint;
    unjudged boolean;
    prev_hash bytea;
    head_hash bytea;
    last_position bigint;
    stamp timestamptz;
    suspects integer[] := '{{}}';
    spent uuid[];
    {root_declare}
BEGIN
    PERFORM pg_advisory_xact_lock({lock_key});
    -- One statement for all that must hold before a row is written.
    SELECT a.position, a.hash, greatest(a.at, p_at) {anchors_root},
        (SELECT count(*) FROM {scopes} s
         WHERE {anchor_is_p_s} AND s.scope_id IN (p_session, p_interaction)
           AND s.session_id = p_session AND s.closed_at IS NULL),
        p_items #>> '{{0,transition}}' = 'observed' AND p_items #> '{{0,judged}}' IS NULL
            AND EXISTS (SELECT FROM {reads} r WHERE {anchor_is_p_r} AND r.session_id = p_session)
    INTO r_position, head_hash, r_at {root_target}, open_ones, unjudged
    FROM {anchors} a WHERE {anchor_is_p_a};
    IF NOT FOUND THEN
        SELECT a.position, a.hash, greatest(a.at, p_at) {anchors_root}, 0
        INTO r_position, head_hash, r_at {root_target}, open_ones FROM {head}({anchor_p}) a;
    END IF;
    IF open_ones <> (p_session IS NOT NULL)::integer + (p_interaction IS NOT NULL)::integer THEN
        RAISE EXCEPTION 'idetic.scope_closed: the session or interaction is closed or unknown'
            USING ERRCODE = 'ID003';
    END IF;
    -- This session was shown entries: whoever asks has to say first which items only repeat them.
    IF unjudged THEN
        r_position := NULL;
        r_reason := 'unjudged';
        RETURN NEXT;
        RETURN;
    END IF;

    {suspect_items}
    SELECT array_agg(s.id) INTO spent FROM {spent}({anchor_p}, p_at, p_kind, p_name, p_session) s(id);
    p_plain := p_plain AND suspects = '{{}}' AND spent IS NULL;
    {plain_lane}
    FOR item IN SELECT x.*, row_number() OVER () = ANY (suspects) OR spent IS NOT NULL AS suspect,
            coalesce(x.key IS NOT NULL OR x.refs IS NOT NULL OR x.supersede OR x.echo IS NOT NULL
                     OR x.form IS NOT NULL OR p_careful, false) AS special
        FROM {items}    LOOP
        IF NOT (item.special OR item.suspect) THEN
            {add}
            RETURN NEXT;
            CONTINUE;
        END IF;

        SELECT a.* INTO known
        FROM {answer}({anchor_p}, to_jsonb(item), {root_or_null}, coalesce(p_careful, false),
                      item.suspect, p_kind || ':' || p_name, p_session, spent) a;
        last_position := r_position;
        stamp := r_at;
        IF known.replay IS NOT NULL THEN
            SELECT l.position, l.at, l.receipt_id, l.decision, l.reason, l.memory_id, l.detail
            INTO r_position, r_at, r_receipt, r_decision, r_reason, r_memory, r_detail
            FROM {ledger} l WHERE {anchor_is_p_l} AND l.position = known.replay;
        ELSE
            IF known.decision IS NOT NULL THEN
                {link_known}
            ELSIF known.old_id IS NULL THEN
                {add}
            ELSE
                {link_superseded}
                {supersede}
                UPDATE {memory} m SET superseded_at = r_at, superseded_by = item.memory
                WHERE {anchor_is_p_m} AND m.memory_id = known.old_id;
            END IF;
            IF known.decision IS NULL AND item.refs IS NOT NULL THEN
                PERFORM {refer}({anchor_p}, item.memory, item.refs, item.provenance, {root_or_null},
                                r_at);
            END IF;
            last_position := r_position;
            SELECT l.receipt_id, l.decision, l.reason, l.memory_id, l.detail
            INTO r_receipt, r_decision, r_reason, r_memory, r_detail
            FROM {ledger} l WHERE {anchor_is_p_l} AND l.position = r_position;
            IF item.key IS NOT NULL THEN
                INSERT INTO {receipts} ({anchor}, idempotency_key, request_digest, position)
                VALUES ({anchor_p}, item.key, decode(item.digest, 'hex'), r_position);
            END IF;
        END IF;
        RETURN NEXT;
        r_position := last_position;
        r_at := stamp;
        r_receipt := NULL;
        r_decision := NULL;
        r_reason := NULL;
        r_memory := NULL;
        r_detail := NULL;
    END LOOP;
    UPDATE {anchors} a SET position = r_position, hash = head_hash, at = r_at
    WHERE {anchor_is_p_a};
END
$$;

-- object: function {family}_answer_v2
-- What is already decided about an item before it is written: a replay, a NOOP, a refusal, or
-- only which entry it will supersede.
CREATE OR REPLACE FUNCTION {answer}({anchor_params}, item jsonb, root_key uuid, careful boolean,
    suspect boolean, writer text, session uuid, spent uuid[])
RETURNS TABLE (replay bigint, decision idetic.decision, reason text, same_id uuid, state text,
               detail jsonb, old_id uuid)
LANGUAGE plpgsql AS $$
DECLARE
    prior record;
    hit jsonb;
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
    -- Judged by the gateway; the state stays unsaid, because nothing became of the entry.
    IF jsonb_typeof(item -> 'echo') = 'object' THEN
        decision := 'NOOP';
        reason := 'echo';
        same_id := (item #>> '{{echo,echo_of,0}}')::uuid;
        detail := item -> 'echo';
        RETURN NEXT;
        RETURN;
    END IF;
    IF (item ->> 'supersede')::boolean THEN
        SELECT m.memory_id, m.claim_value INTO prior FROM {memory} m
        WHERE {anchor_is_p_m} AND m.tier = (item ->> 'tier')::idetic.tier
          AND m.typology = (item ->> 'typology')::idetic.typology
          AND m.archived_at IS NULL AND m.superseded_at IS NULL AND m.invalidated_at IS NULL
          AND m.deleted_at IS NULL AND NOT m.candidate
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
    IF item ->> 'form' IS NOT NULL THEN
        hit := jsonb_build_object('form', item ->> 'form');
    END IF;
    {careful_guard}
    IF hit IS NOT NULL THEN
        decision := 'REJECT';
        reason := CASE WHEN hit ? 'form' THEN 'record'
                       WHEN (hit ->> 'id')::uuid = ANY (spent) THEN 'retries'
                       WHEN hit ->> 'how' = 'verbatim' THEN 'record' ELSE 'shadow' END;
        detail := hit || jsonb_build_object('length', char_length(item ->> 'body'),
                                            'session', session);
    END IF;
    RETURN NEXT;
END
$$;

-- object: function {family}_spent_v1
-- The canonical rows over which a writer was refused three times in this session, or without one
-- within a day: whoever tries on is paraphrasing until it passes (decision 0019).
CREATE OR REPLACE FUNCTION {spent}({anchor_params}, p_at timestamptz, p_kind idetic.principal,
                                   p_name text, p_session uuid) RETURNS SETOF uuid
LANGUAGE sql STABLE AS $$
    SELECT (l.detail ->> 'id')::uuid FROM {ledger} l
    WHERE {anchor_is_p_l} AND l.transition = 'refused' AND l.at > p_at - interval '1 day'
      AND l.actor_kind = p_kind AND l.actor = p_name AND l.detail ->> 'id' IS NOT NULL
      AND (l.detail ->> 'session')::uuid IS NOT DISTINCT FROM p_session
    GROUP BY 1 HAVING count(*) >= 3
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
