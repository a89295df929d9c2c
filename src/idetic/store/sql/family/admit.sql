-- object: function {name}_head_v1
-- Take the anchor, hold it to commit, and give the end of its chain. Everything that writes takes
-- the anchor first, so two writers of one anchor never interleave and never deadlock; positions
-- are then gapless and ordered by commit, which sequences are not. The first write of an anchor
-- records it: its keys as they are bound, position zero and the chain's genesis.
CREATE OR REPLACE FUNCTION {family}_head_v1(p_tenant {tenant_type}, p_anchor uuid)
RETURNS {family}_memory_anchors
LANGUAGE plpgsql AS $$
DECLARE
    head {family}_memory_anchors;
    root_key uuid;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('{family_text}' || p_anchor::text, 0));
    SELECT a.* INTO head FROM {family}_memory_anchors a
    WHERE a.{tenant} = p_tenant AND a.anchor_id = p_anchor;
    IF FOUND THEN
        RETURN head;
    END IF;
    IF p_anchor IS DISTINCT FROM idetic.anchor_id_v1(ARRAY[{bound_texts}]) THEN
        RAISE EXCEPTION 'idetic.entry_not_found: this anchor is not bound' USING ERRCODE = 'ID006';
    END IF;
    -- if root:
    SELECT c.{root_id} INTO root_key FROM {root} c
    WHERE c.{tenant} = p_tenant AND ({keys_of_c}) = ({bound_keys});
    IF NOT FOUND THEN
        RAISE EXCEPTION 'idetic.anchor_not_found: no {root_noun} for this anchor'
            USING ERRCODE = 'ID005', DETAIL = '{root_noun} {root_text}';
    END IF;
    -- end
    INSERT INTO {family}_memory_anchors ({keys}, anchor_id,
        -- if root:
        {root_id},
        -- end
        position, hash, at)
    VALUES ({bound_keys}, p_anchor,
        -- if root:
        root_key,
        -- end
        0, idetic.genesis_hash_v1('{family_text}', jsonb_build_array({bound_keys})), '-infinity');
    SELECT a.* INTO head FROM {family}_memory_anchors a
    WHERE a.{tenant} = p_tenant AND a.anchor_id = p_anchor;
    RETURN head;
END
$$;

-- object: function {name}_chain_v1
-- Append one link at a position and give its hash. Whoever calls holds the anchor and moves its end.
CREATE OR REPLACE FUNCTION {family}_chain_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_position bigint, p_prev bytea, p_receipt uuid, p_at timestamptz, p_transition text,
    p_decision idetic.decision, p_memory uuid, p_kind idetic.principal, p_name text, p_reason text,
    p_from text, p_to text, p_detail jsonb) RETURNS bytea
LANGUAGE plpgsql AS $$
DECLARE
    made bytea := sha256(p_prev || idetic.link_content_v1(p_position, p_receipt, p_at, p_transition,
        p_decision, p_memory, p_kind, p_name, p_reason, p_from, p_to, p_detail));
BEGIN
    INSERT INTO {family}_memory_ledger ({tenant}, anchor_id, position, receipt_id, at, transition,
        decision, memory_id, actor_kind, actor, reason, state_from, state_to, detail, prev_hash, hash)
    VALUES (p_tenant, p_anchor, p_position, p_receipt, p_at, p_transition, p_decision, p_memory,
        p_kind, p_name, p_reason, p_from, p_to, p_detail, p_prev, made);
    RETURN made;
END
$$;

-- object: function {name}_append_v1
-- One link after the head of an anchor that the caller holds; moves the anchor's end to it.
CREATE OR REPLACE FUNCTION {family}_append_v1(head {family}_memory_anchors, p_receipt uuid,
    p_at timestamptz, p_transition text, p_decision idetic.decision, p_memory uuid, p_actor jsonb,
    p_reason text, p_from text, p_to text, p_detail jsonb) RETURNS {family}_memory_ledger
LANGUAGE plpgsql AS $$
DECLARE
    link {family}_memory_ledger;
BEGIN
    link.{tenant} := head.{tenant};
    link.anchor_id := head.anchor_id;
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
    link.detail := coalesce(p_detail, '{}');
    link.prev_hash := head.hash;
    link.hash := {family}_chain_v1(link.{tenant}, link.anchor_id, link.position, link.prev_hash,
        link.receipt_id, link.at, link.transition, link.decision, link.memory_id, link.actor_kind,
        link.actor, link.reason, link.state_from, link.state_to, link.detail);
    UPDATE {family}_memory_anchors a SET position = link.position, hash = link.hash, at = link.at
    WHERE a.{tenant} = head.{tenant} AND a.anchor_id = head.anchor_id;
    RETURN link;
END
$$;

-- object: function {name}_replay_v1
-- The ledger row an idempotency key stands for, or nothing. Another body under the same key
-- is refused. Safe without a unique-violation dance: the caller holds the anchor.
CREATE OR REPLACE FUNCTION {family}_replay_v1(p_tenant {tenant_type}, p_anchor uuid, p_key text,
    p_digest bytea) RETURNS SETOF {family}_memory_ledger
LANGUAGE plpgsql AS $$
DECLARE
    known record;
BEGIN
    SELECT r.request_digest, r.position INTO known FROM {family}_memory_receipts r
    WHERE r.{tenant} = p_tenant AND r.anchor_id = p_anchor AND r.idempotency_key = p_key;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF known.request_digest <> p_digest THEN
        RAISE EXCEPTION 'idetic.idempotency_conflict: the key was used with another body'
            USING ERRCODE = 'ID002';
    END IF;
    RETURN QUERY SELECT l.* FROM {family}_memory_ledger l
    WHERE l.{tenant} = p_tenant AND l.anchor_id = p_anchor AND l.position = known.position;
END
$$;

-- object: function {name}_admit_v1
-- Admit entries: the one way a memory row comes to be. One call, one transaction, one round
-- trip, whether for one entry or a thousand. Per item, in order: what is already decided about
-- it (a replay, a NOOP, a refusal), the row, its references, its link in the ledger.
--
-- Written for few statements and few expressions: PL/pgSQL prepares each of them anew in every
-- transaction, and that, not the writing, was most of the cost. Items of which nothing has to be
-- asked alone come as a convoy, and go in with one statement; here they go row by row.
-- For an item that is simply added only position and time come back; the rest is as asked.
--
-- Where nothing is written because the call has to come again, one row without a position says why:
-- held      somebody holds the anchor, and the call does not wait: others travel with it
-- unjudged  the session was shown entries that the items may only repeat
CREATE OR REPLACE FUNCTION {family}_admit_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_at timestamptz, p_kind idetic.principal, p_name text, p_session uuid, p_interaction uuid,
    p_version integer, p_careful boolean, p_waits boolean, p_items jsonb)
RETURNS TABLE (r_position bigint, r_at timestamptz, r_receipt uuid, r_decision idetic.decision,
               r_reason text, r_memory uuid, r_detail jsonb)
-- if plain:
-- Every look-up here is by primary key; planned for each call, the first took longer than all else.
-- The path is the guard's own: what is called with one path and then with the other is parsed and
-- planned anew each time, and that was a third of a guarded note.
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
-- end
-- if citus:
LANGUAGE plpgsql AS $$
-- end
#variable_conflict use_column
DECLARE
    item idetic.item;
    known record;
    -- Whether more is to be asked of an item than what is asked of all.
    decided boolean;
    suspect boolean;
    old_id uuid;
    open_ones bigint;
    unjudged boolean;
    refused boolean;
    -- Where the anchor's row says that the chain ends.
    written bigint;
    prev_hash bytea;
    head_hash bytea;
    suspects integer[] := '{}';
    spent uuid[];
    root_key uuid;
    key_salt uuid;
    keyed jsonb;
    bound text;
BEGIN
    IF p_waits THEN
        bound := pg_advisory_xact_lock(hashtextextended('{family_text}' || p_anchor::text, 0));
    ELSIF NOT pg_try_advisory_xact_lock(hashtextextended('{family_text}' || p_anchor::text, 0)) THEN
        r_reason := 'held';
        RETURN NEXT;
        RETURN;
    END IF;
    -- One statement for all that must hold before a row is written.
    SELECT a.position, a.hash, greatest(a.at, p_at), {root_of_a},
        (SELECT count(*) FROM {family}_memory_scopes s
         WHERE s.{tenant} = p_tenant AND s.anchor_id = p_anchor
           AND s.scope_id IN (p_session, p_interaction)
           AND s.session_id = p_session AND s.closed_at IS NULL),
        p_session IS NOT NULL AND p_items #>> '{0,transition}' = 'observed'
            AND p_items #> '{0,judged}' IS NULL
            AND {family}_was_shown_v1(p_tenant, p_anchor, ARRAY[p_session]),
        EXISTS (SELECT FROM {family}_memory_ledger l WHERE l.{tenant} = p_tenant
                AND l.anchor_id = p_anchor AND l.transition = 'refused'
                AND l.at > p_at - interval '1 day')
    INTO r_position, head_hash, r_at, root_key, open_ones, unjudged, refused
    FROM {family}_memory_anchors a WHERE a.{tenant} = p_tenant AND a.anchor_id = p_anchor;
    IF NOT FOUND THEN
        SELECT a.position, a.hash, greatest(a.at, p_at), {root_of_a}, 0
        INTO r_position, head_hash, r_at, root_key, open_ones
        FROM {family}_head_v1(p_tenant, p_anchor) a;
    END IF;
    written := r_position;
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

    -- for each guarded noun:
    -- The shared lock first, as in the trigger: what is looked up must hold until the commit.
    bound := pg_advisory_xact_lock_shared(hashtextextended('{canonical_text}' || p_tenant::text, 0));
    suspects := suspects || {family}_{noun}_suspects_v1(p_tenant, ARRAY[root_key], p_items);
    -- end
    -- Nearly always there is nothing: asked by itself, that took 24 us of a write's 600.
    IF refused THEN
        SELECT array_agg(s.id) INTO spent
        FROM {family}_spent_v1(p_tenant, p_anchor, p_at, p_kind, p_name, p_session) s(id);
    END IF;
    FOR n IN 1 .. jsonb_array_length(p_items) LOOP
        item := jsonb_populate_record(NULL::idetic.item, p_items -> n - 1);
        suspect := n = ANY (suspects) OR spent IS NOT NULL;
        old_id := NULL;
        decided := suspect OR p_careful OR item.supersede IS TRUE OR num_nonnulls(
            item.key, item.refs, item.echo, item.form, item.sampling) > 0;
        IF decided THEN
            SELECT a.* INTO known
            FROM {family}_answer_v1(p_tenant, p_anchor, to_jsonb(item), root_key,
                p_careful, suspect, r_at, p_session, spent) a;
            IF known.replay IS NOT NULL THEN
                RETURN QUERY
                SELECT l.position, l.at, l.receipt_id, l.decision, l.reason, l.memory_id, l.detail
                FROM {family}_memory_ledger l WHERE l.{tenant} = p_tenant
                  AND l.anchor_id = p_anchor AND l.position = known.replay;
                CONTINUE;
            END IF;
            r_receipt := item.receipt;
            r_decision := known.decision;
            r_reason := known.reason;
            r_memory := known.same_id;
            r_detail := known.detail;
            old_id := known.old_id;
            IF old_id IS NOT NULL THEN
                r_position := r_position + 1;
                head_hash := {family}_chain_v1(p_tenant, p_anchor, r_position, head_hash,
                    item.receipt, r_at, 'superseded', 'UPDATE', old_id, p_kind, p_name,
                    'a later statement of the same claim', 'current', 'superseded',
                    jsonb_build_object('superseded_by', item.memory));
            END IF;
        END IF;
        r_position := r_position + 1;
        key_salt := NULL;
        keyed := NULL;
        IF item.key IS NOT NULL THEN
            key_salt := gen_random_uuid();
            keyed := idetic.key_witness_v1(key_salt, item.key, decode(item.digest, 'hex'));
        END IF;
        IF r_decision IS NOT NULL THEN
            r_detail := r_detail || coalesce(keyed, '{}');
            -- A NOOP or a refusal: the link is all that is written.
            head_hash := {family}_chain_v1(p_tenant, p_anchor, r_position, head_hash, item.receipt,
                r_at, CASE WHEN r_decision = 'REJECT' THEN 'refused' ELSE item.transition END,
                r_decision, r_memory, p_kind, p_name, r_reason, known.state, known.state, r_detail);
        ELSE
            IF decided THEN
                r_decision := CASE WHEN old_id IS NULL THEN 'ADD' ELSE 'UPDATE' END;
                r_reason := CASE WHEN old_id IS NULL THEN 'new'
                                 ELSE 'supersedes an earlier statement' END;
                r_memory := item.memory;
                r_detail := CASE WHEN old_id IS NULL THEN item.detail
                                 ELSE item.detail || jsonb_build_object('supersedes', old_id) END;
            END IF;
            IF item.refs IS NOT NULL THEN
                -- The link says which version was meant, so it is looked up before.
                item.refs := {family}_pinned_v1(p_tenant, item.refs, root_key);
                r_detail := r_detail || jsonb_build_object('refs', item.refs);
            END IF;
            IF keyed IS NOT NULL THEN
                r_detail := r_detail || keyed;
            END IF;
            prev_hash := head_hash;
            head_hash := sha256(prev_hash || idetic.link_content_v1(r_position, item.receipt, r_at,
                item.transition, coalesce(r_decision, 'ADD'), item.memory, p_kind, p_name,
                coalesce(r_reason, 'new'), NULL, 'current', coalesce(r_detail, item.detail)));
            -- Row, link and the anchor's end with one statement: starting one costs more than the
            -- insert. On Citus the end is moved below: no UPDATE was tried there behind inserts.
            WITH entry AS (
                INSERT INTO {family}_memory ({tenant}, anchor_id, memory_id,
                    -- if root:
                    {root_id},
                    -- end
                    tier, typology, session_id, interaction_id, body_text, envelope, claim_subject,
                    claim_attribute, claim_value, lexemes, provenance, origin, trust,
                    valid_at, invalid_at, candidate, spec_version, content_hash, digest_salt,
                    created_at, created_by)
                VALUES (p_tenant, p_anchor, item.memory,
                    -- if root:
                    root_key,
                    -- end
                    item.tier, item.typology, p_session, p_interaction, item.body, item.envelope,
                    item.claim ->> 'subject', item.claim ->> 'attribute', item.claim ->> 'value',
                    to_tsvector('pg_catalog.english', concat_ws(': ', item.envelope ->> 'speaker', item.body)), item.provenance,
                    item.origin, item.trust, coalesce(item.valid_at, r_at), item.invalid_at,
                    coalesce(item.candidate, false), p_version, decode(item.hash, 'hex'),
                    decode(item.salt, 'hex'), r_at, p_kind || ':' || p_name)
            )
            -- if plain:
            , linked AS (
            -- end
            INSERT INTO {family}_memory_ledger ({tenant}, anchor_id, position, receipt_id, at,
                transition, decision, memory_id, actor_kind, actor, reason, state_from, state_to,
                detail, prev_hash, hash)
            VALUES (p_tenant, p_anchor, r_position, item.receipt, r_at, item.transition,
                coalesce(r_decision, 'ADD'), item.memory, p_kind, p_name, coalesce(r_reason, 'new'),
                NULL, 'current', coalesce(r_detail, item.detail), prev_hash, head_hash)
            -- if plain:
            )
            UPDATE {family}_memory_anchors a SET position = r_position, hash = head_hash, at = r_at
            WHERE a.{tenant} = p_tenant AND a.anchor_id = p_anchor
            -- end
            ;
            -- if plain:
            written := r_position;
            -- end
            IF old_id IS NOT NULL THEN
                UPDATE {family}_memory m SET superseded_at = r_at, superseded_by = item.memory
                WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.memory_id = old_id;
            END IF;
            IF item.refs IS NOT NULL THEN
                PERFORM {family}_refer_v1(p_tenant, p_anchor, item.memory, item.refs,
                    item.provenance, r_at);
            END IF;
        END IF;
        IF item.key IS NOT NULL THEN
            INSERT INTO {family}_memory_receipts ({tenant}, anchor_id, idempotency_key,
                request_digest, position, salt)
            VALUES (p_tenant, p_anchor, item.key, decode(item.digest, 'hex'), r_position,
                uuid_send(key_salt));
        END IF;
        RETURN NEXT;
        IF decided THEN
            r_receipt := NULL;
            r_decision := NULL;
            r_reason := NULL;
            r_memory := NULL;
            r_detail := NULL;
        END IF;
    END LOOP;
    -- Where all were replays, no link was added, and the anchor keeps the time of its last.
    IF r_position > written THEN
        UPDATE {family}_memory_anchors a SET position = r_position, hash = head_hash, at = r_at
        WHERE a.{tenant} = p_tenant AND a.anchor_id = p_anchor;
    END IF;
END
$$;

-- object: function {name}_answer_v1
-- What is already decided about an item before it is written: a replay, a NOOP, a refusal, or
-- only which entry it will supersede.
CREATE OR REPLACE FUNCTION {family}_answer_v1(p_tenant {tenant_type}, p_anchor uuid, item jsonb,
    root_key uuid, careful boolean, suspect boolean, at timestamptz, session uuid, spent uuid[])
RETURNS TABLE (replay bigint, decision idetic.decision, reason text, same_id uuid, state text,
               detail jsonb, old_id uuid)
LANGUAGE plpgsql AS $$
DECLARE
    prior record;
    hit jsonb;
    texts text[];
    said text;
    counted bigint;
BEGIN
    detail := '{}';
    IF item ->> 'key' IS NOT NULL THEN
        SELECT r.position INTO replay FROM {family}_replay_v1(
            p_tenant, p_anchor, item ->> 'key', decode(item ->> 'digest', 'hex')) r;
        IF replay IS NOT NULL THEN
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;
    -- Judged by the gateway; the state stays unsaid, because nothing became of the entry.
    IF jsonb_typeof(item -> 'echo') = 'object' THEN
        decision := 'NOOP';
        reason := 'echo';
        same_id := (item #>> '{echo,echo_of,0}')::uuid;
        detail := item -> 'echo';
        RETURN NEXT;
        RETURN;
    END IF;
    -- Left out by its id, or because it is not the n-th of its kind at this anchor: the first is kept.
    IF jsonb_typeof(item -> 'sampling') = 'object' THEN
        IF item #> '{sampling,every}' IS NOT NULL THEN
            INSERT INTO {family}_memory_marks AS k ({tenant}, anchor_id, kind, position, marked_at)
            VALUES (p_tenant, p_anchor, 'sampled ' || (item #>> '{sampling,rule}'), 1, at)
            ON CONFLICT ({tenant}, anchor_id, kind)
            DO UPDATE SET position = k.position + 1, marked_at = excluded.marked_at
            RETURNING (k.position - 1) % (item #>> '{sampling,every}')::integer INTO counted;
        END IF;
        IF counted IS DISTINCT FROM 0 THEN
            decision := 'NOOP';
            reason := 'sampled out';
            detail := jsonb_build_object('sampling', item -> 'sampling');
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;
    IF (item ->> 'supersede')::boolean THEN
        SELECT m.memory_id, m.claim_value INTO prior FROM {family}_memory m
        WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor
          AND m.tier = (item ->> 'tier')::idetic.tier
          AND m.typology = (item ->> 'typology')::idetic.typology
          AND m.archived_at IS NULL AND m.superseded_at IS NULL AND m.invalidated_at IS NULL
          AND m.deleted_at IS NULL AND NOT m.candidate
          AND CASE WHEN item #>> '{claim,subject}' IS NOT NULL
              THEN m.claim_subject = item #>> '{claim,subject}'
               AND m.claim_attribute = item #>> '{claim,attribute}'
              ELSE m.claim_subject IS NULL AND m.body_text = item ->> 'body' END
        ORDER BY m.memory_id DESC LIMIT 1;
        IF FOUND AND prior.claim_value IS NOT DISTINCT FROM item #>> '{claim,value}' THEN
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
    -- for each guarded noun:
    texts := {family}_texts_v1(item ->> 'body', item -> 'envelope', item -> 'provenance');
    IF careful THEN
        FOREACH said IN ARRAY texts LOOP
            hit := coalesce(hit, {family}_{noun}_shadow_v1(p_tenant, root_key, said));
        END LOOP;
    END IF;
    IF suspect THEN
        hit := coalesce(hit, {family}_{noun}_restated_v1(p_tenant, p_anchor, root_key, texts, at,
            spent));
    END IF;
    -- end
    IF hit IS NOT NULL THEN
        old_id := NULL;
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

-- object: function {name}_spent_v1
-- The canonical rows over which a writer was refused three times in this session, or without one
-- within a day: whoever tries on is paraphrasing until it passes (decision 0019).
CREATE OR REPLACE FUNCTION {family}_spent_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_at timestamptz, p_kind idetic.principal, p_name text, p_session uuid) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY SELECT (l.detail ->> 'id')::uuid FROM {family}_memory_ledger l
    WHERE l.{tenant} = p_tenant AND l.anchor_id = p_anchor AND l.transition = 'refused'
      AND l.at > p_at - interval '1 day' AND l.actor_kind = p_kind AND l.actor = p_name
      AND l.detail ->> 'id' IS NOT NULL
      AND (l.detail ->> 'session')::uuid IS NOT DISTINCT FROM p_session
    GROUP BY 1 HAVING count(*) >= 3;
END
$$;

-- object: function {name}_pinned_v1
-- References with the version that each means: the one named, or else the one that stands now. Each
-- must exist. Asked before the link is written, which keeps the answer.
CREATE OR REPLACE FUNCTION {family}_pinned_v1(p_tenant {tenant_type}, p_refs jsonb, root_key uuid)
RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    ref jsonb;
    pin integer;
    made jsonb := '[]';
BEGIN
    FOR ref IN SELECT e.value FROM jsonb_array_elements(p_refs) AS e (value) LOOP
        -- for each noun:
        IF ref ->> 'noun' = '{noun}' THEN
            SELECT {version_of_c} INTO pin FROM {canonical} c
            WHERE c.{tenant} = p_tenant AND c.{canonical_id} = (ref ->> 'id')::uuid
            -- if canonical_scope:
              AND c.{canonical_scope} = root_key
            -- end
            ;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'idetic.reference_not_found: no {noun} % in this scope', ref ->> 'id'
                    USING ERRCODE = 'ID004';
            END IF;
            -- if canonical_version:
            ref := ref || jsonb_build_object('version', coalesce((ref ->> 'version')::integer, pin));
            -- end
        END IF;
        -- end
        made := made || ref;
    END LOOP;
    RETURN made;
END
$$;

-- object: function {name}_refer_v1
-- Write an entry's references, each with the version that was pinned.
CREATE OR REPLACE FUNCTION {family}_refer_v1(p_tenant {tenant_type}, p_anchor uuid, p_memory uuid,
    p_refs jsonb, p_provenance jsonb, p_at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    ref record;
BEGIN
    FOR ref IN SELECT * FROM jsonb_to_recordset(p_refs)
        AS x(noun text, ref_id uuid, id uuid, version integer)
    LOOP
        -- for each noun:
        IF ref.noun = '{noun}' THEN
            INSERT INTO {family}_memory_{noun}_refs ({tenant}, anchor_id, ref_id, memory_id,
                {canonical_id},
                -- if canonical_version:
                {noun}_version,
                -- end
                provenance, created_at)
            VALUES (p_tenant, p_anchor, ref.ref_id, p_memory, ref.id,
                -- if canonical_version:
                ref.version,
                -- end
                p_provenance, p_at);
        END IF;
        -- end
    END LOOP;
END
$$;
