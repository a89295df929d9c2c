-- object: function {name}_turn_v1
-- Turn an entry's state: `archive` and `exempt`. Turning what is already turned is a NOOP;
-- turning what is no longer current is refused.
CREATE OR REPLACE FUNCTION {family}_turn_v1(p_tenant {tenant_type}, p_anchor uuid, call jsonb)
RETURNS SETOF {family}_memory_ledger
LANGUAGE plpgsql AS $$
DECLARE
    head {family}_memory_anchors;
    link {family}_memory_ledger;
    entry record;
    verb text := call ->> 'verb';
    turned text := CASE verb WHEN 'archive' THEN 'archived_at' ELSE 'exempt_at' END;
    stamp timestamptz;
    done boolean;
    state text;
    key_salt uuid := gen_random_uuid();
BEGIN
    head := {family}_head_v1(p_tenant, p_anchor);
    stamp := greatest((call ->> 'at')::timestamptz, head.at);
    IF call ->> 'key' IS NOT NULL THEN
        RETURN QUERY SELECT * FROM {family}_replay_v1(
            p_tenant, p_anchor, call ->> 'key', decode(call ->> 'digest', 'hex'));
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    SELECT m.memory_id, m.archived_at, m.superseded_at, m.invalidated_at, m.deleted_at, m.exempt_at,
        m.candidate
    INTO entry FROM {family}_memory m
    WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor
      AND m.memory_id = (call ->> 'memory')::uuid FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'idetic.entry_not_found: no such entry in this scope' USING ERRCODE = 'ID006';
    END IF;
    state := CASE WHEN entry.deleted_at IS NOT NULL THEN 'deleted'
                  WHEN entry.superseded_at IS NOT NULL THEN 'superseded'
                  WHEN entry.invalidated_at IS NOT NULL THEN 'invalidated'
                  WHEN entry.archived_at IS NOT NULL THEN 'archived'
                  WHEN entry.candidate THEN 'candidate' ELSE 'current' END;
    done := CASE verb WHEN 'archive' THEN state = 'archived' ELSE entry.exempt_at IS NOT NULL END;
    IF NOT done AND state NOT IN ('current', 'candidate') THEN
        RAISE EXCEPTION 'idetic.transition: the entry is already %', state USING ERRCODE = 'ID007';
    END IF;
    IF NOT done AND verb = 'archive' THEN
        UPDATE {family}_memory m SET archived_at = stamp
        WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.memory_id = entry.memory_id;
    ELSIF NOT done THEN
        UPDATE {family}_memory m SET exempt_at = stamp
        WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.memory_id = entry.memory_id;
    END IF;
    link := {family}_append_v1(head, (call ->> 'receipt')::uuid, stamp,
        CASE verb WHEN 'archive' THEN 'archived' ELSE 'exempted' END,
        CASE WHEN done THEN 'NOOP' ELSE 'UPDATE' END::idetic.decision, entry.memory_id,
        call -> 'actor', call ->> 'reason', state,
        CASE WHEN verb = 'archive' THEN 'archived' ELSE state END,
        CASE WHEN NOT done THEN jsonb_build_object('was', jsonb_build_object(turned, NULL),
                                                   'set', jsonb_build_object(turned, stamp))
             ELSE '{}' END
        || idetic.key_witness_v1(key_salt, call ->> 'key', decode(call ->> 'digest', 'hex')));
    IF call ->> 'key' IS NOT NULL THEN
        INSERT INTO {family}_memory_receipts ({tenant}, anchor_id, idempotency_key,
            request_digest, position, salt)
        VALUES (p_tenant, p_anchor, call ->> 'key', decode(call ->> 'digest', 'hex'), link.position,
            uuid_send(key_salt));
    END IF;
    RETURN NEXT link;
END
$$;

-- object: function {name}_link_v1
-- Record that an action rested on these entries. Each entry gets a link in its own history;
-- the receipt is the row that closes the call.
CREATE OR REPLACE FUNCTION {family}_link_v1(p_tenant {tenant_type}, p_anchor uuid, call jsonb)
RETURNS SETOF {family}_memory_ledger
LANGUAGE plpgsql AS $$
DECLARE
    head {family}_memory_anchors;
    link {family}_memory_ledger;
    wanted uuid;
    added integer := 0;
    stamp timestamptz;
    p_action uuid := (call ->> 'action')::uuid;
    key_salt uuid := gen_random_uuid();
BEGIN
    head := {family}_head_v1(p_tenant, p_anchor);
    stamp := greatest((call ->> 'at')::timestamptz, head.at);
    IF call ->> 'key' IS NOT NULL THEN
        RETURN QUERY SELECT * FROM {family}_replay_v1(
            p_tenant, p_anchor, call ->> 'key', decode(call ->> 'digest', 'hex'));
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    FOR wanted IN SELECT value::uuid FROM jsonb_array_elements_text(call -> 'memories') LOOP
        PERFORM FROM {family}_memory m WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor
            AND m.memory_id = wanted AND m.deleted_at IS NULL;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'idetic.entry_not_found: no entry % in this scope', wanted
                USING ERRCODE = 'ID006';
        END IF;
        INSERT INTO {family}_memory_actions ({tenant}, anchor_id, action_id, memory_id,
            action_kind, linked_at, linked_by)
        VALUES (p_tenant, p_anchor, p_action, wanted, call ->> 'kind', stamp,
                (call #>> '{actor,kind}') || ':' || (call #>> '{actor,name}'))
        ON CONFLICT ({tenant}, anchor_id, action_id, memory_id) DO NOTHING;
        IF FOUND THEN
            added := added + 1;
            link := {family}_append_v1(head, (call ->> 'receipt')::uuid, stamp, 'action_linked', 'ADD', wanted,
                call -> 'actor', call ->> 'reason', NULL, NULL,
                jsonb_build_object('action', p_action, 'kind', call ->> 'kind'));
            head := {family}_head_v1(p_tenant, p_anchor);
        END IF;
    END LOOP;
    link := {family}_append_v1(head, (call ->> 'receipt')::uuid, stamp, 'action_recorded',
        CASE WHEN added = 0 THEN 'NOOP' ELSE 'ADD' END::idetic.decision, NULL, call -> 'actor',
        call ->> 'reason', NULL, NULL, jsonb_build_object(
            'action', p_action, 'kind', call ->> 'kind', 'entries', call -> 'memories')
        || idetic.key_witness_v1(key_salt, call ->> 'key', decode(call ->> 'digest', 'hex'))
        || {family}_witness_v1(p_tenant, p_anchor, head.position + 1));
    IF call ->> 'key' IS NOT NULL THEN
        INSERT INTO {family}_memory_receipts ({tenant}, anchor_id, idempotency_key,
            request_digest, position, salt)
        VALUES (p_tenant, p_anchor, call ->> 'key', decode(call ->> 'digest', 'hex'), link.position,
            uuid_send(key_salt));
    END IF;
    RETURN NEXT link;
END
$$;

-- object: function {name}_scope_v1
-- Open a session or an interaction; opening what is open resumes it.
CREATE OR REPLACE FUNCTION {family}_scope_v1(p_tenant {tenant_type}, p_anchor uuid, call jsonb)
RETURNS SETOF {family}_memory_ledger
LANGUAGE plpgsql AS $$
DECLARE
    head {family}_memory_anchors;
    link {family}_memory_ledger;
    stamp timestamptz;
    p_scope uuid := (call ->> 'scope')::uuid;
    p_session uuid := (call ->> 'session')::uuid;
    changed integer;
BEGIN
    head := {family}_head_v1(p_tenant, p_anchor);
    stamp := greatest((call ->> 'at')::timestamptz, head.at);
    IF p_scope <> p_session THEN
        -- No row lock is needed for the session to stay open until this commits: closing takes the
        -- anchor first, and this holds it.
        PERFORM FROM {family}_memory_scopes s WHERE s.{tenant} = p_tenant AND s.anchor_id = p_anchor
            AND s.scope_id = p_session AND s.session_id = p_session AND s.closed_at IS NULL;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'idetic.scope_closed: the session or interaction is closed or unknown'
                USING ERRCODE = 'ID003';
        END IF;
    END IF;
    INSERT INTO {family}_memory_scopes ({tenant}, anchor_id, scope_id, tier, session_id, opened_at, opened_by)
    VALUES (p_tenant, p_anchor, p_scope, (call ->> 'tier')::idetic.tier, p_session, stamp,
            (call #>> '{actor,kind}') || ':' || (call #>> '{actor,name}'))
    ON CONFLICT ({tenant}, anchor_id, scope_id) DO NOTHING;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed = 0 THEN
        UPDATE {family}_memory_scopes s SET renewed_at = stamp
        WHERE s.{tenant} = p_tenant AND s.anchor_id = p_anchor AND s.scope_id = p_scope AND s.closed_at IS NULL;
    END IF;
    link := {family}_append_v1(head, (call ->> 'receipt')::uuid, stamp, (call ->> 'tier') || '_opened',
        CASE WHEN changed = 0 THEN 'NOOP' ELSE 'ADD' END::idetic.decision,
        NULL, call -> 'actor', call ->> 'reason', NULL, NULL,
        jsonb_build_object('scope', p_scope, 'session', p_session));
    RETURN NEXT link;
END
$$;
