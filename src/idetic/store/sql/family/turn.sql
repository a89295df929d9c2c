-- object: function {family}_turn_v1
-- Turn an entry's state: `archive` and `exempt`. Turning what is already turned is a NOOP;
-- turning what is no longer current is refused.
CREATE OR REPLACE FUNCTION {turn}({anchor_params}, call jsonb) RETURNS SETOF {ledger}
LANGUAGE plpgsql AS $$
DECLARE
    head {anchors};
    link {ledger};
    entry record;
    verb text := call ->> 'verb';
    turned text := CASE verb WHEN 'archive' THEN 'archived_at' ELSE 'exempt_at' END;
    stamp timestamptz;
    done boolean;
    state text;
BEGIN
    head := {head}({anchor_p});
    stamp := greatest((call ->> 'at')::timestamptz, head.at);
    IF call ->> 'key' IS NOT NULL THEN
        RETURN QUERY SELECT * FROM {replay}({anchor_p}, call ->> 'key', decode(call ->> 'digest', 'hex'));
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    SELECT m.memory_id, m.archived_at, m.superseded_at, m.invalidated_at, m.deleted_at, m.exempt_at,
        m.candidate
    INTO entry FROM {memory} m
    WHERE {anchor_is_p_m} AND m.memory_id = (call ->> 'memory')::uuid FOR UPDATE;
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
        UPDATE {memory} m SET archived_at = stamp
        WHERE {anchor_is_p_m} AND m.memory_id = entry.memory_id;
    ELSIF NOT done THEN
        UPDATE {memory} m SET exempt_at = stamp
        WHERE {anchor_is_p_m} AND m.memory_id = entry.memory_id;
    END IF;
    link := {append}(head, (call ->> 'receipt')::uuid, stamp,
        CASE verb WHEN 'archive' THEN 'archived' ELSE 'exempted' END,
        CASE WHEN done THEN 'NOOP' ELSE 'UPDATE' END::idetic.decision, entry.memory_id,
        call -> 'actor', call ->> 'reason', state,
        CASE WHEN verb = 'archive' THEN 'archived' ELSE state END,
        CASE WHEN NOT done THEN jsonb_build_object('was', jsonb_build_object(turned, NULL),
                                                   'set', jsonb_build_object(turned, stamp)) END);
    {remember_call_key}
    RETURN NEXT link;
END
$$;

-- object: function {family}_link_v1
-- Record that an action rested on these entries. Each entry gets a link in its own history;
-- the receipt is the row that closes the call.
CREATE OR REPLACE FUNCTION {link_action}({anchor_params}, call jsonb) RETURNS SETOF {ledger}
LANGUAGE plpgsql AS $$
DECLARE
    head {anchors};
    link {ledger};
    wanted uuid;
    added integer := 0;
    stamp timestamptz;
    p_action uuid := (call ->> 'action')::uuid;
BEGIN
    head := {head}({anchor_p});
    stamp := greatest((call ->> 'at')::timestamptz, head.at);
    IF call ->> 'key' IS NOT NULL THEN
        RETURN QUERY SELECT * FROM {replay}({anchor_p}, call ->> 'key', decode(call ->> 'digest', 'hex'));
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    FOR wanted IN SELECT value::uuid FROM jsonb_array_elements_text(call -> 'memories') LOOP
        PERFORM FROM {memory} m WHERE {anchor_is_p_m} AND m.memory_id = wanted AND m.deleted_at IS NULL;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'idetic.entry_not_found: no entry % in this scope', wanted
                USING ERRCODE = 'ID006';
        END IF;
        INSERT INTO {actions} ({anchor}, action_id, memory_id, action_kind, linked_at, linked_by)
        VALUES ({anchor_p}, p_action, wanted, call ->> 'kind', stamp,
                (call #>> '{{actor,kind}}') || ':' || (call #>> '{{actor,name}}'))
        ON CONFLICT ({anchor}, action_id, memory_id) DO NOTHING;
        IF FOUND THEN
            added := added + 1;
            link := {append}(head, (call ->> 'receipt')::uuid, stamp, 'action_linked', 'ADD', wanted,
                call -> 'actor', call ->> 'reason', NULL, NULL,
                jsonb_build_object('action', p_action, 'kind', call ->> 'kind'));
            head := {head}({anchor_p});
        END IF;
    END LOOP;
    link := {append}(head, (call ->> 'receipt')::uuid, stamp, 'action_recorded',
        CASE WHEN added = 0 THEN 'NOOP' ELSE 'ADD' END::idetic.decision, NULL, call -> 'actor',
        call ->> 'reason', NULL, NULL, jsonb_build_object(
            'action', p_action, 'kind', call ->> 'kind', 'entries', call -> 'memories'));
    {remember_call_key}
    RETURN NEXT link;
END
$$;

-- object: function {family}_scope_v1
-- Open a session or an interaction; opening what is open resumes it.
CREATE OR REPLACE FUNCTION {scope_turn}({anchor_params}, call jsonb) RETURNS SETOF {ledger}
LANGUAGE plpgsql AS $$
DECLARE
    head {anchors};
    link {ledger};
    stamp timestamptz;
    p_scope uuid := (call ->> 'scope')::uuid;
    p_session uuid := (call ->> 'session')::uuid;
    changed integer;
BEGIN
    head := {head}({anchor_p});
    stamp := greatest((call ->> 'at')::timestamptz, head.at);
    IF p_scope <> p_session THEN
        PERFORM {check_scope}({anchor_p}, p_session, NULL);
    END IF;
    INSERT INTO {scopes} ({anchor}, scope_id, tier, session_id, opened_at, opened_by)
    VALUES ({anchor_p}, p_scope, (call ->> 'tier')::idetic.tier, p_session, stamp,
            (call #>> '{{actor,kind}}') || ':' || (call #>> '{{actor,name}}'))
    ON CONFLICT ({anchor}, scope_id) DO NOTHING;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed = 0 THEN
        UPDATE {scopes} s SET renewed_at = stamp
        WHERE {anchor_is_p_s} AND s.scope_id = p_scope AND s.closed_at IS NULL;
    END IF;
    link := {append}(head, (call ->> 'receipt')::uuid, stamp, (call ->> 'tier') || '_opened',
        CASE WHEN changed = 0 THEN 'NOOP' ELSE 'ADD' END::idetic.decision,
        NULL, call -> 'actor', call ->> 'reason', NULL, NULL,
        jsonb_build_object('scope', p_scope, 'session', p_session));
    RETURN NEXT link;
END
$$;
