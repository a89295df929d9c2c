-- object: function {name}_write_v1
-- Write items of one principal after the end of an anchor that the caller holds, with one statement
-- for all of them: entries, what they supersede, links, keys, and the anchor's new end. A row for
-- each item; of one that is simply added, only position and time.
--
-- Gives no row and writes nothing where one item's fate depends on another, or was decided before:
-- a key that is known or stands twice here, a claim that is stated twice here, a statement that is
-- told apart by its words. Then whoever calls goes through them one by one.
--
-- To start a statement costs ten times what a row does, however few rows there are: hence this.
CREATE OR REPLACE FUNCTION {family}_write_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_position bigint, p_hash bytea, p_at timestamptz, p_root uuid, p_kind idetic.principal,
    p_name text, p_version integer, p_items jsonb)
RETURNS TABLE (r_position bigint, r_at timestamptz, r_receipt uuid, r_decision idetic.decision,
               r_reason text, r_memory uuid, r_detail jsonb)
-- if plain:
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
-- end
-- if citus:
LANGUAGE plpgsql AS $$
-- end
#variable_conflict use_column
BEGIN
    -- if citus:
    -- Citus refuses INSERT … SELECT FROM a function under RLS.
    RETURN;
    -- end
    -- if plain:
    IF p_items @? '$[*] ? (exists (@.key) || @.supersede == true)' THEN
        PERFORM FROM jsonb_populate_recordset(NULL::idetic.item, p_items) x
        HAVING count(x.key) > count(DISTINCT x.key)
            OR bool_or(x.supersede AND x.claim IS NULL)
            OR count(*) FILTER (WHERE x.supersede) > count(DISTINCT (x.tier, x.typology,
                x.claim ->> 'subject', x.claim ->> 'attribute')) FILTER (WHERE x.supersede);
        IF FOUND THEN
            RETURN;
        END IF;
        PERFORM FROM jsonb_populate_recordset(NULL::idetic.item, p_items) x
        JOIN {family}_memory_receipts r ON r.{tenant} = p_tenant AND r.anchor_id = p_anchor
            AND r.idempotency_key = x.key;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT x.*, row_number() OVER () AS n,
            CASE WHEN x.key IS NOT NULL THEN gen_random_uuid() END AS key_salt
        FROM jsonb_populate_recordset(NULL::idetic.item, p_items) x
    ), decided AS MATERIALIZED (
        -- What stands now under the claim of an item that supersedes: said again, it is a NOOP.
        SELECT item.*, old.memory_id AS old_id, coalesce(old.same, false) AS same,
            sum(CASE WHEN old.same THEN 1 WHEN old.memory_id IS NULL THEN 1 ELSE 2 END)
                OVER (ORDER BY item.n) AS place
        FROM item LEFT JOIN LATERAL (
            SELECT m.memory_id,
                m.claim_value IS NOT DISTINCT FROM item.claim ->> 'value' AS same
            -- By its claim first: an order with a limit would be served by the newest entries.
            FROM (SELECT c.memory_id, c.claim_value FROM {family}_memory c
                  WHERE item.supersede AND c.{tenant} = p_tenant AND c.anchor_id = p_anchor
                    AND c.claim_subject = item.claim ->> 'subject'
                    AND c.claim_attribute = item.claim ->> 'attribute'
                    AND c.tier = item.tier AND c.typology = item.typology
                    AND c.archived_at IS NULL AND c.superseded_at IS NULL
                    AND c.invalidated_at IS NULL AND c.deleted_at IS NULL AND NOT c.candidate
                  OFFSET 0) m
            ORDER BY m.memory_id DESC LIMIT 1
        ) AS old ON true
    ), link AS MATERIALIZED (
        SELECT d.place, d.n, d.receipt, d.transition,
            CASE WHEN d.same THEN 'NOOP' WHEN d.old_id IS NULL THEN 'ADD'
                 ELSE 'UPDATE' END::idetic.decision AS decision,
            CASE WHEN d.same THEN d.old_id ELSE d.memory END AS memory,
            CASE WHEN d.same THEN 'already stated' WHEN d.old_id IS NULL THEN 'new'
                 ELSE 'supersedes an earlier statement' END AS reason,
            CASE WHEN d.same THEN 'current' END AS state_from, 'current' AS state_to,
            CASE WHEN d.same THEN '{}' WHEN d.old_id IS NULL THEN d.detail
                 ELSE d.detail || jsonb_build_object('supersedes', d.old_id) END
            || CASE WHEN d.key IS NULL THEN '{}' ELSE idetic.key_witness_v1(
                d.key_salt, d.key, decode(d.digest, 'hex')) END AS detail
        FROM decided d
        UNION ALL
        SELECT d.place - 1, NULL, d.receipt, 'superseded', 'UPDATE', d.old_id,
            'a later statement of the same claim', 'current', 'superseded',
            jsonb_build_object('superseded_by', d.memory)
        FROM decided d WHERE d.old_id IS NOT NULL AND NOT d.same
    ), chained AS MATERIALIZED (
        SELECT link.*, idetic.chain_v1(p_hash, idetic.link_content_v1(p_position + link.place,
            link.receipt, p_at, link.transition, link.decision, link.memory, p_kind, p_name,
            link.reason, link.state_from, link.state_to, link.detail)) OVER (ORDER BY link.place)
            AS link_hash
        FROM link
    ), entry AS (
        INSERT INTO {family}_memory ({tenant}, anchor_id, memory_id,
            -- if root:
            {root_id},
            -- end
            tier, typology, session_id, interaction_id, body_text, envelope, claim_subject,
            claim_attribute, claim_value, lexemes, provenance, origin, trust,
            valid_at, invalid_at, candidate, spec_version, content_hash, digest_salt,
            created_at, created_by)
        SELECT p_tenant, p_anchor, item.memory,
            -- if root:
            p_root,
            -- end
            item.tier, item.typology, (item.detail ->> 'session')::uuid,
            (item.detail ->> 'interaction')::uuid, item.body, item.envelope,
            item.claim ->> 'subject', item.claim ->> 'attribute', item.claim ->> 'value',
            to_tsvector('pg_catalog.english', concat_ws(': ', item.envelope ->> 'speaker', item.body)), item.provenance,
            item.origin, item.trust, coalesce(item.valid_at, p_at), item.invalid_at,
            coalesce(item.candidate, false), p_version, decode(item.hash, 'hex'),
            decode(item.salt, 'hex'), p_at, p_kind || ':' || p_name
        FROM decided AS item WHERE NOT item.same
    ), linked AS (
        INSERT INTO {family}_memory_ledger ({tenant}, anchor_id, position, receipt_id, at,
            transition, decision, memory_id, actor_kind, actor, reason, state_from, state_to,
            detail, prev_hash, hash)
        SELECT p_tenant, p_anchor, p_position + link.place, link.receipt, p_at, link.transition,
            link.decision, link.memory, p_kind, p_name, link.reason, link.state_from, link.state_to,
            link.detail, lag(link.link_hash, 1, p_hash) OVER (ORDER BY link.place), link.link_hash
        FROM chained AS link
    ), replaced AS (
        UPDATE {family}_memory m SET superseded_at = p_at, superseded_by = d.memory
        FROM decided d
        WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.memory_id = d.old_id
          AND NOT d.same
    ), keyed AS (
        INSERT INTO {family}_memory_receipts ({tenant}, anchor_id, idempotency_key,
            request_digest, position, salt)
        SELECT p_tenant, p_anchor, d.key, decode(d.digest, 'hex'), p_position + d.place,
            uuid_send(d.key_salt)
        FROM decided d WHERE d.key IS NOT NULL
    ), moved AS (
        UPDATE {family}_memory_anchors a
        SET position = p_position + last.place, hash = last.link_hash, at = p_at
        FROM (SELECT link.place, link.link_hash FROM chained AS link
              ORDER BY link.place DESC LIMIT 1) AS last
        WHERE a.{tenant} = p_tenant AND a.anchor_id = p_anchor
    )
    SELECT (p_position + link.place)::bigint, p_at,
        CASE WHEN link.decision <> 'ADD' THEN link.receipt END,
        CASE WHEN link.decision <> 'ADD' THEN link.decision END,
        CASE WHEN link.decision <> 'ADD' THEN link.reason END,
        CASE WHEN link.decision <> 'ADD' THEN link.memory END,
        CASE WHEN link.decision <> 'ADD' THEN link.detail END
    FROM link WHERE link.n IS NOT NULL ORDER BY link.n;
    -- end
END
$$;

-- object: function {name}_convoy_v1
-- Admit items of several calls of one principal, each at a place of its own, all or none of them.
-- Only what is as plain for each as if it had come alone: where a place is closed, a session was
-- shown entries, or an item might be refused, one row without a position says `apart`, and each
-- call is decided by itself (`admit`). `held`: as there.
CREATE OR REPLACE FUNCTION {family}_convoy_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_at timestamptz, p_kind idetic.principal, p_name text, p_version integer, p_waits boolean,
    p_items jsonb)
RETURNS TABLE (r_position bigint, r_at timestamptz, r_receipt uuid, r_decision idetic.decision,
               r_reason text, r_memory uuid, r_detail jsonb)
-- if plain:
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
-- end
-- if citus:
LANGUAGE plpgsql AS $$
-- end
#variable_conflict use_column
DECLARE
    head record;
    suspects integer[] := '{}';
BEGIN
    IF p_waits THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('{family_text}' || p_anchor::text, 0));
    ELSIF NOT pg_try_advisory_xact_lock(hashtextextended('{family_text}' || p_anchor::text, 0)) THEN
        r_reason := 'held';
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT a.position, a.hash, greatest(a.at, p_at) AS at, {root_of_a} AS root INTO head
    FROM {family}_memory_anchors a
    WHERE a.{tenant} = p_tenant AND a.anchor_id = p_anchor
      -- Somebody who was refused too often may be refused for less: see `spent`.
      AND NOT EXISTS (
        SELECT FROM {family}_memory_ledger l WHERE l.{tenant} = p_tenant AND l.anchor_id = p_anchor
          AND l.transition = 'refused' AND l.at > p_at - interval '1 day'
          AND l.actor_kind = p_kind AND l.actor = p_name
        GROUP BY l.detail ->> 'id', l.detail ->> 'session' HAVING count(*) >= 3)
      AND NOT EXISTS (
        SELECT FROM (SELECT DISTINCT (i.value #>> '{detail,session}')::uuid AS session_id,
                            (i.value #>> '{detail,interaction}')::uuid AS interaction_id,
                            i.value -> 'judged' IS NOT NULL AS judged
                     FROM jsonb_array_elements(p_items) AS i) AS place
        WHERE place.session_id IS NOT NULL AND (
            NOT place.judged AND EXISTS (SELECT FROM {family}_memory_reads r
                    WHERE r.{tenant} = p_tenant AND r.anchor_id = p_anchor
                      AND r.session_id = place.session_id)
            OR (SELECT count(*) FROM {family}_memory_scopes s WHERE s.{tenant} = p_tenant
                AND s.anchor_id = p_anchor AND s.session_id = place.session_id
                AND s.scope_id IN (place.session_id, place.interaction_id)
                AND s.closed_at IS NULL) <> num_nonnulls(place.session_id, place.interaction_id)));
    IF FOUND THEN
        -- for each guarded noun:
        PERFORM pg_advisory_xact_lock_shared(hashtextextended('{canonical_text}' || p_tenant::text, 0));
        suspects := suspects || {family}_{noun}_suspects_v1(p_tenant, head.root, p_items);
        -- end
        IF suspects = '{}' THEN
            RETURN QUERY SELECT * FROM {family}_write_v1(p_tenant, p_anchor, head.position,
                head.hash, head.at, head.root, p_kind, p_name, p_version, p_items);
            IF FOUND THEN
                RETURN;
            END IF;
        END IF;
    END IF;
    r_reason := 'apart';
    RETURN NEXT;
END
$$;
