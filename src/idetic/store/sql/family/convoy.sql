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
    p_name text, p_version integer, p_items idetic.item[])
RETURNS TABLE (r_position bigint, r_at timestamptz, r_receipt uuid, r_decision idetic.decision,
               r_reason text, r_memory uuid, r_detail jsonb)
LANGUAGE plpgsql
-- if plain:
SET plan_cache_mode = force_generic_plan
-- For the look-up of claims: see the index on them.
SET enable_sort = off
-- The planner takes a thousand items for ten. What it then compared row by row took half the time of
-- a thousand supersessions; a look-up for each item is a loop all the same.
SET enable_nestloop = off
SET jit = off
-- end
AS $$
#variable_conflict use_column
BEGIN
    -- if citus:
    -- Citus refuses INSERT … SELECT FROM a function under RLS.
    RETURN;
    -- end
    -- if plain:
    PERFORM FROM unnest(p_items) x
    HAVING count(x.key) > count(DISTINCT x.key)
        OR bool_or(x.supersede AND x.claim IS NULL)
        OR count(*) FILTER (WHERE x.supersede) > count(DISTINCT (x.tier, x.typology,
            x.claim ->> 'subject', x.claim ->> 'attribute')) FILTER (WHERE x.supersede)
        OR EXISTS (SELECT FROM {family}_memory_receipts r
                   WHERE r.{tenant} = p_tenant AND r.anchor_id = p_anchor
                     AND r.idempotency_key = ANY (array_agg(x.key)));
    IF FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT x.*, x.ordinality AS n,
            CASE WHEN x.key IS NOT NULL THEN gen_random_uuid() END AS key_salt
        FROM unnest(p_items) WITH ORDINALITY x
    ), decided AS MATERIALIZED (
        -- What stands now under the claim of an item that supersedes: said again, it is a NOOP.
        SELECT item.*, old.memory_id AS old_id, coalesce(old.same, false) AS same,
            sum(CASE WHEN old.same THEN 1 WHEN old.memory_id IS NULL THEN 1 ELSE 2 END)
                OVER (ORDER BY item.n) AS place
        FROM item LEFT JOIN LATERAL (
            SELECT m.memory_id,
                m.claim_value IS NOT DISTINCT FROM item.claim ->> 'value' AS same
            -- By its claim first: an order with a limit would be served by the newest entries, and
            -- an index on all that is current by reading the anchor for every item.
            FROM (SELECT c.memory_id, c.claim_value, c.tier, c.typology FROM {family}_memory c
                  WHERE item.supersede AND c.{tenant} = p_tenant AND c.anchor_id = p_anchor
                    AND c.claim_subject = item.claim ->> 'subject'
                    AND c.claim_attribute = item.claim ->> 'attribute'
                    AND c.archived_at IS NULL AND c.superseded_at IS NULL
                    AND c.invalidated_at IS NULL AND c.deleted_at IS NULL AND NOT c.candidate
                  ORDER BY c.typology OFFSET 0) m
            WHERE m.tier = item.tier AND m.typology = item.typology
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
          -- Said twice, so that they are found by their ids and not among all of the anchor's.
          AND m.memory_id = ANY (ARRAY(SELECT o.old_id FROM decided o WHERE NOT o.same))
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

-- object: function {name}_enter_v1
-- Bind the next anchor of a convoy for row-level security; gives its id. A column of a statement that
-- calls this binds each row's anchor right before the policies look at that row.
CREATE OR REPLACE FUNCTION {family}_enter_v1(p_scope text, p_anchor uuid) RETURNS uuid
LANGUAGE plpgsql AS $$
DECLARE
    scope text := set_config('idetic.scope', p_scope, true);
BEGIN
    RETURN set_config('idetic.anchor', p_anchor::text, true);
END
$$;

-- object: function {name}_convoy_v1
-- Admit items of several calls of one principal, of one anchor or of several, each at a place of its
-- own. Anchor by anchor all or none: only what is as plain for each call as if it had come alone.
-- `p_calls` tells of each anchor what row-level security reads of it (`scope`, `anchor`: one is bound
-- at a time), and how many of `p_items` are its own, after those of the anchors before it. `places`
-- are the scopes that its items are for, `sessions` the session of each, and `unread` the sessions of
-- items that nobody has compared with what was shown there.
--
-- Each step is one statement for all anchors: to start one costs more than what it does for an anchor.
--
-- Of an anchor whose items are simply added, one row: the position of its last, and the time. Of one
-- with keys or claims, a row for each item. Where nothing is written, a row without a position:
-- held      somebody holds the anchor
-- unjudged  a session was shown entries that the items may only repeat
-- apart     a place is closed, or an item might be refused: each call is decided by itself (`admit`)
CREATE OR REPLACE FUNCTION {family}_convoy_v1(p_tenant {tenant_type}, p_at timestamptz,
    p_kind idetic.principal, p_name text, p_version integer, p_waits boolean, p_calls jsonb,
    p_items jsonb)
RETURNS TABLE (r_call integer, r_position bigint, r_at timestamptz, r_receipt uuid,
               r_decision idetic.decision, r_reason text, r_memory uuid, r_detail jsonb)
-- if plain:
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
-- end
-- if citus:
LANGUAGE plpgsql AS $$
-- end
#variable_conflict use_column
DECLARE
    -- Whether an item has a key or supersedes.
    special CONSTANT boolean := p_items @? '$[*] ? (exists (@.key) || @.supersede == true)';
    -- The scope of a call that is alone was entered with the message.
    several CONSTANT boolean := jsonb_array_length(p_calls) > 1;
    items idetic.item[];
    call jsonb;
    anchor uuid;
    made record;
    heads {family}_memory_anchors[];
    roots uuid[];
    reasons text[];
    -- Of each item, the number of its anchor.
    owners integer[];
    suspects integer[] := '{}';
    suspect integer;
    taken boolean[];
    bound text;
    behind integer := 0;
    many integer;
BEGIN
    -- First all anchors are taken: what is read of them is read after that.
    SELECT array_agg(CASE WHEN p_waits THEN pg_advisory_xact_lock(k.key) IS NOT NULL
                     ELSE pg_try_advisory_xact_lock(k.key) END) INTO taken
    FROM jsonb_array_elements(p_calls) c,
        LATERAL (SELECT hashtextextended('{family_text}' || (c.value ->> 'anchor'), 0) AS key) AS k;
    -- A look-up that compares with a list of another statement's would be made once for all anchors:
    -- these name the anchor of their row.
    SELECT array_agg(h.a), array_agg(h.root), array_agg(
            CASE WHEN NOT taken[c.n] THEN 'held'
            WHEN h.a IS NULL AND c.places = '{}' THEN 'first'
            WHEN h.a IS NULL OR cardinality(c.places) <> (
                SELECT count(*) FROM {family}_memory_scopes s
                WHERE s.{tenant} = p_tenant AND s.anchor_id = c.anchor
                  AND s.scope_id = ANY (c.places)
                  AND s.session_id = c.sessions[array_position(c.places, s.scope_id)]
                  AND s.closed_at IS NULL) THEN 'apart'
            -- Somebody who was refused too often may be refused for less: see `spent`.
            WHEN (SELECT true FROM {family}_memory_ledger l WHERE l.{tenant} = p_tenant
                    AND l.anchor_id = c.anchor AND l.transition = 'refused'
                    AND l.at > p_at - interval '1 day' AND l.actor_kind = p_kind
                    AND l.actor = p_name OFFSET 2 LIMIT 1) THEN 'apart'
            -- As `was_shown` asks it; as a function of its own it was a tenth of a note in a convoy.
            WHEN c.unread <> '{}' AND coalesce((
                SELECT true FROM {family}_memory_reads r
                WHERE r.{tenant} = p_tenant AND r.anchor_id = c.anchor
                  AND r.session_id = ANY (c.unread) LIMIT 1), (
                SELECT true FROM {family}_memory_scopes s, {family}_memory_reads r
                WHERE s.{tenant} = p_tenant AND s.anchor_id = c.anchor
                  AND s.scope_id = ANY (c.unread)
                  AND r.{tenant} = p_tenant AND r.anchor_id = c.anchor AND r.session_id IS NULL
                  AND r.read_by = s.opened_by AND r.read_at > s.opened_at - interval '1 hour'
                LIMIT 1)) THEN 'unjudged' END)
    INTO heads, roots, reasons
    FROM (SELECT c.n, c.places, c.sessions, c.unread,
            CASE WHEN several THEN (ARRAY[set_config('idetic.scope', c.scope, true),
                set_config('idetic.anchor', c.anchor::text, true)])[2]::uuid ELSE c.anchor END AS anchor
          FROM ROWS FROM (jsonb_to_recordset(p_calls)
              AS (scope text, anchor uuid, places uuid[], sessions uuid[], unread uuid[]))
              WITH ORDINALITY AS c (scope, anchor, places, sessions, unread, n) OFFSET 0) AS c
        LEFT JOIN LATERAL (
            SELECT a, {root_of_a} AS root FROM {family}_memory_anchors a
            WHERE a.{tenant} = p_tenant AND a.anchor_id = c.anchor OFFSET 0) AS h ON true;
    FOR n IN 1 .. cardinality(reasons) LOOP
        -- The first write of an anchor.
        CONTINUE WHEN reasons[n] IS DISTINCT FROM 'first';
        call := p_calls -> n - 1;
        anchor := CASE WHEN several THEN {family}_enter_v1(call ->> 'scope', (call ->> 'anchor')::uuid)
                  ELSE (call ->> 'anchor')::uuid END;
        SELECT a AS head, {root_of_a} AS root INTO made FROM {family}_head_v1(p_tenant, anchor) a;
        heads[n] := made.head;
        roots[n] := made.root;
        reasons[n] := NULL;
    END LOOP;
    IF several THEN
        SELECT array_agg(c.n), array_agg(roots[c.n]) INTO owners, roots
        FROM jsonb_array_elements(p_calls) WITH ORDINALITY AS c (call, n),
            generate_series(1, (c.call -> 'count')::integer);
    ELSE
        many := p_calls -> 0 -> 'count';
        owners := array_fill(1, ARRAY[many]);
        roots := array_fill(roots[1], ARRAY[many]);
    END IF;
    -- for each guarded noun:
    -- The shared lock first, as in the trigger: what is looked up must hold until the commit.
    bound := pg_advisory_xact_lock_shared(hashtextextended('{canonical_text}' || p_tenant::text, 0));
    suspects := suspects || {family}_{noun}_suspects_v1(p_tenant, roots, p_items);
    -- end
    FOREACH suspect IN ARRAY suspects LOOP
        reasons[owners[suspect]] := coalesce(reasons[owners[suspect]], 'apart');
    END LOOP;
    IF special THEN
        items := ARRAY(SELECT x FROM jsonb_populate_recordset(NULL::idetic.item, p_items) x);
        FOR n IN 1 .. cardinality(reasons) LOOP
            call := p_calls -> n - 1;
            anchor := CASE WHEN several THEN {family}_enter_v1(call ->> 'scope', (call ->> 'anchor')::uuid)
                      ELSE (call ->> 'anchor')::uuid END;
            many := call -> 'count';
            IF reasons[n] IS NULL THEN
                RETURN QUERY SELECT n, w.* FROM {family}_write_v1(p_tenant, anchor,
                    heads[n].position, heads[n].hash, greatest(heads[n].at, p_at),
                    roots[behind + 1], p_kind, p_name, p_version,
                    items[behind + 1 : behind + many]) w;
                IF NOT FOUND THEN
                    reasons[n] := 'apart';
                END IF;
            END IF;
            IF reasons[n] IS NOT NULL THEN
                r_call := n;
                r_reason := reasons[n];
                RETURN NEXT;
            END IF;
            behind := behind + many;
        END LOOP;
        RETURN;
    END IF;
    RETURN QUERY
    WITH own AS MATERIALIZED (
        SELECT c.n, heads[c.n] AS head, greatest((heads[c.n]).at, p_at) AS at, reasons[c.n] AS reason,
            c.call ->> 'scope' AS scope, (c.call ->> 'anchor')::uuid AS anchor,
            (c.call -> 'count')::integer AS many,
            sum((c.call -> 'count')::integer) OVER (ORDER BY c.n) AS through
        FROM jsonb_array_elements(p_calls) WITH ORDINALITY AS c (call, n)
    ), item AS MATERIALIZED (
        SELECT x.*, own.n, own.anchor, own.scope, own.at, own.many, own.place, own.link_position,
            (own.head).hash AS end_hash, roots[x.ordinality] AS root,
            idetic.chain_v1((own.head).hash, idetic.link_content_v1(own.link_position, x.receipt,
                own.at, x.transition, 'ADD', x.memory, p_kind, p_name, 'new', NULL, 'current',
                x.detail)) OVER (PARTITION BY own.n ORDER BY x.ordinality) AS link_hash
        FROM jsonb_populate_recordset(NULL::idetic.item, p_items) WITH ORDINALITY x
            JOIN LATERAL (
                SELECT own.*, x.ordinality - own.through + own.many AS place,
                    (own.head).position + x.ordinality - own.through + own.many AS link_position
                FROM own WHERE own.n = owners[x.ordinality] AND own.reason IS NULL) AS own ON true
    ), entry AS (
        INSERT INTO {family}_memory ({tenant}, anchor_id, memory_id,
            -- if root:
            {root_id},
            -- end
            tier, typology, session_id, interaction_id, body_text, envelope,
            claim_subject, claim_attribute, claim_value, lexemes, provenance, origin,
            trust, valid_at, invalid_at, candidate, spec_version, content_hash,
            digest_salt, created_at, created_by)
        SELECT p_tenant, CASE WHEN several AND item.place = 1
                THEN (ARRAY[set_config('idetic.scope', item.scope, true),
                    set_config('idetic.anchor', item.anchor::text, true)])[2]::uuid
                ELSE item.anchor END, item.memory,
            -- if root:
            item.root,
            -- end
            item.tier, item.typology, (item.detail ->> 'session')::uuid,
            (item.detail ->> 'interaction')::uuid, item.body, item.envelope,
            item.claim ->> 'subject', item.claim ->> 'attribute',
            item.claim ->> 'value', to_tsvector('pg_catalog.english',
                concat_ws(': ', item.envelope ->> 'speaker', item.body)),
            item.provenance, item.origin, item.trust, coalesce(item.valid_at, item.at),
            item.invalid_at, coalesce(item.candidate, false), p_version,
            decode(item.hash, 'hex'), decode(item.salt, 'hex'), item.at,
            p_kind || ':' || p_name
        FROM item
    ), linked AS (
        INSERT INTO {family}_memory_ledger ({tenant}, anchor_id, position, receipt_id,
            at, transition, decision, memory_id, actor_kind, actor, reason, state_from,
            state_to, detail, prev_hash, hash)
        SELECT p_tenant, CASE WHEN several AND item.place = 1
                THEN (ARRAY[set_config('idetic.scope', item.scope, true),
                    set_config('idetic.anchor', item.anchor::text, true)])[2]::uuid
                ELSE item.anchor END,
            item.link_position, item.receipt, item.at, item.transition, 'ADD', item.memory,
            p_kind, p_name, 'new', NULL, 'current', item.detail,
            lag(item.link_hash, 1, item.end_hash) OVER (PARTITION BY item.n ORDER BY item.place),
            item.link_hash
        FROM item
    ), moved AS (
        -- The row is there; as an update it would be joined, and row-level security asked of all
        -- anchors at once.
        INSERT INTO {family}_memory_anchors AS a ({keys}, anchor_id,
            -- if root:
            {root_id},
            -- end
            position, hash, at)
        SELECT {keys_of_c},
            CASE WHEN several THEN (ARRAY[set_config('idetic.scope', item.scope, true),
                set_config('idetic.anchor', item.anchor::text, true)])[2]::uuid
                ELSE item.anchor END,
            -- if root:
            item.root,
            -- end
            item.link_position, item.link_hash, item.at
        FROM item JOIN own ON own.n = item.n, LATERAL (SELECT (own.head).*) c
        WHERE item.place = item.many
        ON CONFLICT ({tenant}, anchor_id) DO UPDATE
        SET position = excluded.position, hash = excluded.hash, at = excluded.at
    )
    SELECT own.n::integer, CASE WHEN own.reason IS NULL THEN (own.head).position + own.many END,
        own.at, NULL::uuid, NULL::idetic.decision, own.reason, NULL::uuid, NULL::jsonb
    FROM own;
END
$$;
