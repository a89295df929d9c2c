-- if log:
-- object: function {name}_record_v1
-- Append events: the one way a row of the log comes to be. The anchor is held to the commit, so that
-- positions have no gaps and a reader that tails them never overlooks one. An event that is there
-- already, by its id, is not written twice; with another content it is refused. Then the entries
-- that mirror the new events, in a savepoint: if deriving them fails, the events are kept all the
-- same, and a dream derives them later.
CREATE OR REPLACE FUNCTION {family}_record_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_at timestamptz, p_kind idetic.principal, p_name text, p_version integer, p_events jsonb)
RETURNS TABLE (r_position bigint, r_hash bytea, r_at timestamptz, r_derived boolean)
-- if plain:
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
-- end
-- if citus:
LANGUAGE plpgsql AS $$
-- end
#variable_conflict use_column
DECLARE
    item record;
    head {family}_memory_anchors := {family}_head_v1(p_tenant, p_anchor);
    known record;
    last bigint := head.log_position;
    link bytea := coalesce(head.log_hash,
        idetic.genesis_hash_v1('{family_text}_log', jsonb_build_array({bound_keys})));
    next_link bytea;
    content_hash bytea;
    derived boolean := false;
    steps jsonb[] := '{}';
    positions bigint[] := '{}';
    hashes bytea[] := '{}';
    moments timestamptz[] := '{}';
BEGIN
    FOR item IN SELECT * FROM jsonb_to_recordset(p_events) AS x(id uuid, ts timestamptz, loop_id uuid,
        kind idetic.event_kind, visibility idetic.event_visibility, content text, metadata jsonb,
        salt text, step jsonb)
    LOOP
        SELECT l.position, l.hash, l.ts, l.content = item.content AND l.metadata = item.metadata
            AND l.kind = item.kind AND l.visibility = item.visibility
            AND l.loop_id = item.loop_id AS same
        INTO known FROM {family}_log l
        WHERE l.{tenant} = p_tenant AND l.anchor_id = p_anchor AND l.event_id = item.id;
        IF FOUND THEN
            IF known.same IS NOT TRUE THEN
                RAISE EXCEPTION 'idetic.idempotency_conflict: this event id was used with another content'
                    USING ERRCODE = 'ID002';
            END IF;
            positions := array_append(positions, known.position);
            hashes := array_append(hashes, known.hash);
            moments := array_append(moments, known.ts);
            CONTINUE;
        END IF;
        content_hash := sha256(decode(item.salt, 'hex') || convert_to(item.content, 'UTF8')
            || '\x00'::bytea || convert_to(item.metadata::text, 'UTF8'));
        last := last + 1;
        next_link := sha256(link || idetic.event_link_v1(last, item.id, item.ts, item.loop_id,
            item.kind, item.visibility, content_hash));
        INSERT INTO {family}_log ({tenant}, anchor_id, position, event_id, ts, loop_id, kind,
            visibility, content, metadata, salt, content_hash, prev_hash, hash)
        VALUES (p_tenant, p_anchor, last, item.id, item.ts, item.loop_id, item.kind,
            item.visibility, item.content, item.metadata, decode(item.salt, 'hex'), content_hash,
            link, next_link);
        link := next_link;
        positions := array_append(positions, last);
        hashes := array_append(hashes, link);
        moments := array_append(moments, item.ts);
        IF item.step IS NOT NULL THEN
            steps := array_append(steps, item.step);
        END IF;
    END LOOP;
    UPDATE {family}_memory_anchors a SET log_position = last, log_hash = link
    WHERE a.{tenant} = p_tenant AND a.anchor_id = p_anchor;
    IF cardinality(steps) > 0 THEN
        BEGIN
            PERFORM {family}_settle_v1(p_tenant, p_anchor, p_at, p_kind, p_name, p_version,
                to_jsonb(steps));
            derived := true;
        EXCEPTION WHEN OTHERS THEN
            derived := false;
        END;
    END IF;
    RETURN QUERY SELECT a.p, a.h, a.t, derived FROM unnest(positions, hashes, moments) AS a(p, h, t);
END
$$;
GRANT EXECUTE ON FUNCTION {family}_record_v1 TO {writers};

-- object: function {name}_erase_log_v1
-- as: keeper
-- Empty events for good, and notes that name somebody. Their caller has said so in the ledger, in
-- this transaction: an empty event that no link accounts for was tampered with.
CREATE OR REPLACE FUNCTION {family}_erase_log_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_events uuid[], p_notes uuid[]) RETURNS TABLE (r_table text, r_ids text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF NOT idetic.is_bound_v1(p_tenant::text, p_anchor) THEN
        RAISE EXCEPTION 'idetic.entry_not_found: this anchor is not bound' USING ERRCODE = 'ID006';
    END IF;
    r_table := 'log';
    WITH emptied AS (
        UPDATE {family}_log l SET content = '[erased]', metadata = '{}', salt = ''
        WHERE l.{tenant} = p_tenant AND l.anchor_id = p_anchor AND l.event_id = ANY (p_events)
        RETURNING l.event_id)
    SELECT array_agg(e.event_id::text ORDER BY e.event_id) INTO r_ids FROM emptied e;
    RETURN NEXT;
    -- if channel:
    r_table := 'notes';
    WITH emptied AS (
        UPDATE {family}_notes n SET body = '[erased]'
        WHERE n.{tenant} = p_tenant AND n.anchor_id = p_anchor AND n.note_id = ANY (p_notes)
        RETURNING n.note_id)
    SELECT array_agg(e.note_id::text ORDER BY e.note_id) INTO r_ids FROM emptied e;
    RETURN NEXT;
    -- end
END
$$;
GRANT EXECUTE ON FUNCTION {family}_erase_log_v1 TO {steward};
-- end
