-- object: function {family}_admit_v1
-- Admit entries: the one way a memory row comes to be. One call, one transaction, one round
-- trip, whether for one entry or a thousand. Per item, in order: replay of its idempotency
-- key, conflict by typology, the guard (only when `careful`; the trigger is there always),
-- the row, its references, its link in the ledger.
-- A loop of single-row VALUES and not INSERT … SELECT FROM jsonb: Citus refuses the latter
-- under RLS.
CREATE OR REPLACE FUNCTION {admit}({anchor_params}, call jsonb) RETURNS SETOF {ledger}
LANGUAGE plpgsql AS $$
DECLARE
    head {heads} := {lock_head}({anchor_p});
    link {ledger};
    item record;
    ref record;
    prior record;
    hit record;
    pin integer;
    stamp timestamptz := greatest((call ->> 'at')::timestamptz, head.at);
    actor jsonb := call -> 'actor';
    actor_text text := (actor ->> 'kind') || ':' || (actor ->> 'name');
    p_session uuid := (call ->> 'session')::uuid;
    p_interaction uuid := (call ->> 'interaction')::uuid;
    p_version integer := (call ->> 'spec_version')::integer;
    careful boolean := coalesce((call ->> 'careful')::boolean, false);
    {root_declare}
    old_id uuid;
BEGIN
    IF p_session IS NOT NULL THEN
        PERFORM {check_scope}({anchor_p}, p_session, p_interaction);
    END IF;
    {root_lookup}
    FOR item IN SELECT * FROM jsonb_to_recordset(call -> 'items') AS x(
        receipt uuid, memory uuid, transition text, tier idetic.tier, typology idetic.typology,
        body text, envelope jsonb, provenance jsonb, origin idetic.origin, trust smallint,
        valid_at timestamptz, invalid_at timestamptz, salt text, hash text, supersede boolean,
        key text, digest text, refs jsonb)
    LOOP
        IF item.key IS NOT NULL THEN
            SELECT r.* INTO link FROM {replay}({anchor_p}, item.key, decode(item.digest, 'hex')) r;
            IF FOUND THEN
                RETURN NEXT link;
                CONTINUE;
            END IF;
        END IF;

        old_id := NULL;
        hit := NULL;
        IF item.supersede THEN
            SELECT m.memory_id, m.claim_value, m.body_text INTO prior FROM {memory} m
            WHERE {anchor_is_p_m} AND m.tier = item.tier AND m.typology = item.typology
              AND m.archived_at IS NULL AND m.superseded_at IS NULL AND m.invalidated_at IS NULL
              AND m.deleted_at IS NULL
              AND CASE WHEN item.envelope ? 'claim'
                  THEN m.claim_subject = item.envelope #>> '{{claim,subject}}'
                   AND m.claim_attribute = item.envelope #>> '{{claim,attribute}}'
                  ELSE m.claim_subject IS NULL AND m.body_text = item.body END
            ORDER BY m.memory_id DESC LIMIT 1;
            IF FOUND AND (prior.claim_value IS NOT DISTINCT FROM item.envelope #>> '{{claim,value}}') THEN
                link := {append}(head, item.receipt, stamp, item.transition, 'NOOP', prior.memory_id,
                    actor, 'already stated', 'current', 'current', NULL);
                head.position := link.position; head.hash := link.hash; head.at := link.at;
                {remember_key}
                RETURN NEXT link;
                CONTINUE;
            ELSIF FOUND THEN
                old_id := prior.memory_id;
            END IF;
        END IF;

        IF careful THEN
            {careful_guard}
            IF hit.canonical_id IS NOT NULL THEN
                link := {append}(head, item.receipt, stamp, 'refused', 'REJECT', NULL, actor,
                    'shadow', NULL, NULL, jsonb_build_object('noun', hit.noun, 'id', hit.canonical_id,
                    'similarity', hit.similarity, 'length', char_length(item.body)));
                head.position := link.position; head.hash := link.hash; head.at := link.at;
                {remember_key}
                RETURN NEXT link;
                CONTINUE;
            END IF;
        END IF;

        INSERT INTO {memory} ({anchor}, memory_id, {root_column} tier, typology, session_id,
            interaction_id, body_text, envelope, {provenance_columns} origin, trust, valid_at,
            invalid_at, spec_version, content_hash, digest_salt, created_at, created_by)
        VALUES ({anchor_p}, item.memory, {root_value} item.tier, item.typology, p_session,
            p_interaction, item.body, item.envelope, {provenance_values} item.origin, item.trust,
            coalesce(item.valid_at, stamp), item.invalid_at, p_version, decode(item.hash, 'hex'),
            decode(item.salt, 'hex'), stamp, actor_text);

        IF item.refs IS NOT NULL THEN
            FOR ref IN SELECT * FROM jsonb_to_recordset(item.refs)
                AS x(noun text, ref_id uuid, id uuid, version integer)
            LOOP
                {insert_refs}
            END LOOP;
        END IF;

        IF old_id IS NOT NULL THEN
            UPDATE {memory} m SET superseded_at = stamp, superseded_by = item.memory
            WHERE {anchor_is_p_m} AND m.memory_id = old_id;
            link := {append}(head, item.receipt, stamp, 'superseded', 'UPDATE', old_id, actor,
                'a later statement of the same claim', 'current', 'superseded',
                jsonb_build_object('superseded_by', item.memory));
            head.position := link.position; head.hash := link.hash; head.at := link.at;
        END IF;

        link := {append}(head, item.receipt, stamp, item.transition,
            CASE WHEN old_id IS NULL THEN 'ADD' ELSE 'UPDATE' END::idetic.decision, item.memory,
            actor, CASE WHEN old_id IS NULL THEN 'new' ELSE 'supersedes an earlier statement' END,
            NULL, 'current', jsonb_strip_nulls(jsonb_build_object('content_hash', item.hash,
            'supersedes', old_id, 'refs', item.refs)));
        head.position := link.position; head.hash := link.hash; head.at := link.at;
        {remember_key}
        RETURN NEXT link;
    END LOOP;
    UPDATE {heads} h SET position = head.position, hash = head.hash, at = head.at
    WHERE {anchor_is_p_h};
END
$$;
