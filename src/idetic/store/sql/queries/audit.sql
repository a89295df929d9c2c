-- query: end
-- What the anchor's row says the end of its chain is, and where the chain really ends: one
-- statement, so that both are of one moment although others write. Times as texts of microseconds:
-- whoever tampers may have written one that no calendar holds.
SELECT a.position, a.hash, trunc(extract(epoch FROM a.at) * 1000000)::text,
       (SELECT max(l.position) FROM {family}_memory_ledger l WHERE {scope l})
FROM (SELECT) one LEFT JOIN {family}_memory_anchors a ON {scope a}

-- query: chain
-- A stretch of the chain, each column as the text that goes into its hash. The hash itself is
-- computed by whoever asks: a function of the database could be replaced along with the rows.
SELECT l.position, l.receipt_id::text, trunc(extract(epoch FROM l.at) * 1000000)::text, l.transition,
       l.decision::text, l.memory_id::text, l.actor_kind::text, l.actor, l.reason, l.state_from, l.state_to, l.detail::text,
       l.prev_hash, l.hash
FROM {family}_memory_ledger l WHERE {scope l} AND l.position > %(after)s AND l.position <= %(upto)s
ORDER BY l.position LIMIT %(limit)s

-- query: holders
-- Where links with these hashes stand: tells a link that was moved from one that was rewritten.
SELECT l.hash, l.position FROM {family}_memory_ledger l
WHERE {scope l} AND l.hash = ANY (%(hashes)s::bytea[])

-- query: unsaid
-- What the last erasure that emptied reasons says of all links without one. As it was written: a
-- number or a hash that somebody put there otherwise compares unequal.
SELECT (l.detail #>> '{unsaid,links}')::bigint, l.detail #>> '{unsaid,sha256}'
FROM {family}_memory_ledger l
WHERE {scope l} AND l.transition = 'erasure' AND l.detail #> '{unsaid,links}' IS NOT NULL
ORDER BY l.position DESC LIMIT 1

-- query: contents
-- Entries beside what their history says: the hash they were added with, the state they are in,
-- whether they were emptied, and every change of a state column: one that stands behind another
-- (an archived entry that was superseded) shows in no state. One statement for each batch, so that a
-- write in between is no fault.
SELECT m.memory_id, m.body_text, m.envelope::text, m.digest_salt, m.content_hash,
       m.claim_subject, m.claim_attribute, m.claim_value,
       CASE WHEN m.deleted_at IS NOT NULL THEN 'deleted' WHEN m.superseded_at IS NOT NULL THEN 'superseded'
            WHEN m.invalidated_at IS NOT NULL THEN 'invalidated' WHEN m.archived_at IS NOT NULL THEN 'archived'
            WHEN m.candidate THEN 'candidate' ELSE 'current' END,
       added.position, added.content_hash, added.actor, m.created_by, latest.state_to, emptied.position,
       jsonb_build_object({turned_columns}), added.state_to = 'candidate', turned.sets,
       m.origin, m.trust, m.tier || '/' || m.typology, m.created_at = added.at,
       coalesce(m.provenance, '{}'), added.detail,
       jsonb_build_object('spec', m.spec_version, 'session', m.session_id,
                          'interaction', m.interaction_id), to_jsonb(added.at)
FROM {family}_memory m
LEFT JOIN LATERAL (
    SELECT l.position, l.at, l.state_to, l.detail, l.detail ->> 'content_hash' AS content_hash,
           l.actor_kind || ':' || l.actor AS actor
    FROM {family}_memory_ledger l
    WHERE {scope l} AND l.memory_id = m.memory_id AND l.state_from IS NULL
      AND l.detail ->> 'content_hash' IS NOT NULL
    ORDER BY l.position LIMIT 1) added ON true
LEFT JOIN LATERAL (
    SELECT l.state_to FROM {family}_memory_ledger l
    WHERE {scope l} AND l.memory_id = m.memory_id AND l.state_to IS NOT NULL
    ORDER BY l.position DESC LIMIT 1) latest ON true
LEFT JOIN LATERAL (
    SELECT l.position FROM {family}_memory_ledger l
    WHERE {scope l} AND l.memory_id = m.memory_id AND l.transition = ANY (%(emptied)s::text[])
    ORDER BY l.position DESC LIMIT 1) emptied ON true
LEFT JOIN LATERAL (
    SELECT jsonb_agg(coalesce(l.detail -> 'set', jsonb_build_object(
        'superseded_at', l.at, 'superseded_by', l.detail -> 'superseded_by')) ORDER BY l.position) AS sets
    FROM {family}_memory_ledger l
    WHERE {scope l} AND l.memory_id = m.memory_id AND l.decision NOT IN ('NOOP', 'REJECT')
      AND (l.detail -> 'set' IS NOT NULL OR l.transition = 'superseded')) turned ON true
WHERE {scope m} AND m.memory_id > %(after)s ORDER BY m.memory_id LIMIT %(limit)s

-- query: vanished
-- Entries that the chain added and that went without a word: nothing says that a scope took them.
-- Scalar subqueries here and below, and not NOT EXISTS: an anchor that grew since the last ANALYZE
-- looks small to the planner, which then joins without the index (29 s for 5,000 entries).
SELECT l.memory_id, l.position FROM {family}_memory_ledger l
WHERE {scope l} AND l.state_from IS NULL AND l.detail ->> 'content_hash' IS NOT NULL
  AND (SELECT m.memory_id FROM {family}_memory m
       WHERE {scope m} AND m.memory_id = l.memory_id LIMIT 1) IS NULL
  AND (SELECT k.position FROM {family}_memory_ledger k WHERE {scope k} AND k.memory_id = l.memory_id
       AND k.transition = 'dropped' LIMIT 1) IS NULL
ORDER BY l.position LIMIT %(limit)s

-- query: forged_lineage
-- Sources that an entry names with another origin or trust than the chain added them with. What a
-- source was when it went with its scope is kept here and nowhere else but in the chain.
SELECT g.memory_id, g.source_id FROM {family}_memory_lineage g
WHERE {scope g} AND (
    SELECT l.detail ->> 'origin' <> g.origin::text OR l.detail ->> 'trust' <> g.trust::text
    FROM {family}_memory_ledger l
    WHERE {scope l} AND l.memory_id = g.source_id AND l.state_from IS NULL
      AND l.detail ->> 'content_hash' IS NOT NULL
    ORDER BY l.position LIMIT 1)
ORDER BY g.memory_id, g.source_id LIMIT %(limit)s

-- query: lineage
-- Sources of entries beside the link that named each first: with a digest of the row, if that link
-- is not older than digests. A source that was only counted already got no row. Times as texts here
-- and below: whoever tampers may have written one that no calendar holds.
SELECT g.memory_id, g.source_id, told.position, told.digest, g.relation::text, g.session_id,
       g.interaction_id, g.provenance, g.origin::text, g.trust,
       trunc(extract(epoch FROM g.observed_at) * 1000000)::text
FROM {family}_memory_lineage g LEFT JOIN LATERAL (
    SELECT l.position, l.detail #>> ARRAY['lineage', g.source_id::text] AS digest
    FROM {family}_memory_ledger l WHERE {scope l} AND l.memory_id = g.memory_id
      AND l.transition <> 'replayed' AND l.detail -> 'sources' ? g.source_id::text
    ORDER BY l.position LIMIT 1) told ON true
WHERE {scope g} AND (g.memory_id, g.source_id) > (%(after)s::uuid, %(then)s::uuid)
ORDER BY g.memory_id, g.source_id LIMIT %(limit)s

-- query: lost_lineage
-- And the other way round: sources that a link gave an entry, and that no row holds any more.
SELECT l.memory_id, s.source, l.position
FROM {family}_memory_ledger l CROSS JOIN LATERAL jsonb_object_keys(l.detail -> 'lineage') AS s (source)
WHERE {scope l} AND jsonb_typeof(l.detail -> 'lineage') = 'object'
  AND (SELECT m.memory_id FROM {family}_memory m
       WHERE {scope m} AND m.memory_id = l.memory_id LIMIT 1) IS NOT NULL
  AND (SELECT g.source_id FROM {family}_memory_lineage g WHERE {scope g}
       AND g.memory_id = l.memory_id AND g.source_id::text = s.source LIMIT 1) IS NULL
ORDER BY l.position LIMIT %(limit)s

-- query: corroborations
-- What supports entries, beside the link that says so and the last one that withdrew or reinstated it.
SELECT c.corroboration_id, c.memory_id, given.position, given.detail ->> 'row', c.source_type::text,
       c.source_ref, c.source_by, c.session_id, c.origin::text, c.provenance,
       given.detail ->> 'notes_hash', c.notes_salt, c.notes,
       c.corroborated_by = given.actor AND c.corroborated_at = coalesce(
           least((given.detail ->> 'seen_at')::timestamptz, given.at), c.corroborated_at),
       CASE WHEN turned.position IS NOT NULL AND turned.op IS NULL THEN true
            ELSE c.withdrawn_at IS NOT DISTINCT FROM CASE turned.op WHEN 'withdraw' THEN turned.at END
       END,
       (SELECT l.position FROM {family}_memory_ledger l WHERE {scope l} AND l.memory_id = c.memory_id
          AND l.transition = ANY (%(emptied)s::text[]) LIMIT 1) IS NOT NULL
FROM {family}_memory_corroborations c LEFT JOIN LATERAL (
    SELECT l.position, l.at, l.detail, l.actor_kind || ':' || l.actor AS actor
    FROM {family}_memory_ledger l WHERE {scope l} AND l.memory_id = c.memory_id
      AND l.transition = 'corroborated' AND l.decision <> 'NOOP'
      AND l.detail ->> 'corroboration' = c.corroboration_id::text
    ORDER BY l.position LIMIT 1) given ON true
LEFT JOIN LATERAL (
    SELECT l.position, l.at, l.detail ->> 'op' AS op FROM {family}_memory_ledger l
    WHERE {scope l} AND l.memory_id = c.memory_id AND l.transition <> 'corroborated'
      AND l.decision <> 'NOOP' AND l.detail ->> 'corroboration' = c.corroboration_id::text
    ORDER BY l.position DESC LIMIT 1) turned ON true
WHERE {scope c} AND c.corroboration_id > %(after)s ORDER BY c.corroboration_id LIMIT %(limit)s

-- query: lost_corroborations
SELECT l.memory_id, l.detail ->> 'corroboration', l.position FROM {family}_memory_ledger l
WHERE {scope l} AND l.transition = 'corroborated' AND l.decision <> 'NOOP'
  AND (SELECT m.memory_id FROM {family}_memory m
       WHERE {scope m} AND m.memory_id = l.memory_id LIMIT 1) IS NOT NULL
  AND (SELECT c.memory_id FROM {family}_memory_corroborations c WHERE {scope c}
       AND c.corroboration_id::text = l.detail ->> 'corroboration' LIMIT 1) IS NULL
ORDER BY l.position LIMIT %(limit)s

-- query: contradictions
-- Contradictions of one noun, beside every link about each in order: what it must stand like is what
-- they come to.
SELECT c.contradiction_id, c.memory_id, c.{canonical_id}::text, c.provenance,
       jsonb_build_array(c.status, to_jsonb(c.resolved_at), c.resolved_by),
       jsonb_build_array(c.previous_status, to_jsonb(c.previous_at), c.previous_by),
       jsonb_build_array(to_jsonb(c.observed_at), c.observed_by),
       c.resolution_notes, c.notes_salt, c.previous_notes, c.previous_salt, told.links,
       (SELECT l.position FROM {family}_memory_ledger l WHERE {scope l} AND l.memory_id = c.memory_id
          AND l.transition = ANY (%(emptied)s::text[]) LIMIT 1) IS NOT NULL
FROM {family}_{noun}_contradictions c LEFT JOIN LATERAL (
    SELECT jsonb_agg(l.detail || jsonb_build_object('position', l.position, 'at', l.at,
        'actor', l.actor_kind || ':' || l.actor, 'transition', l.transition) ORDER BY l.position) AS links
    FROM {family}_memory_ledger l WHERE {scope l} AND l.memory_id = c.memory_id
      AND l.decision NOT IN ('NOOP', 'REJECT')
      AND l.detail ->> 'contradiction' = c.contradiction_id::text) told ON true
WHERE {scope c} AND c.contradiction_id > %(after)s ORDER BY c.contradiction_id LIMIT %(limit)s

-- query: lost_contradictions
SELECT l.memory_id, l.detail ->> 'contradiction', l.position FROM {family}_memory_ledger l
WHERE {scope l} AND l.transition = 'contradicted' AND l.decision = 'ADD'
  AND l.detail ->> 'noun' = '{noun}'
  AND (SELECT c.memory_id FROM {family}_{noun}_contradictions c WHERE {scope c}
       AND c.contradiction_id::text = l.detail ->> 'contradiction' LIMIT 1) IS NULL
ORDER BY l.position LIMIT %(limit)s

-- query: proposals
-- Proposals beside every link about each in order.
SELECT p.proposal_id, p.memory_id, p.proposal_kind::text, p.about_id, p.support,
       jsonb_build_array(to_jsonb(p.proposed_at), p.proposed_by),
       jsonb_build_array(p.proposal_status, to_jsonb(p.decided_at), p.decided_by),
       p.statement, p.statement_salt, p.decision_reason, p.reason_salt, told.links,
       (SELECT l.position FROM {family}_memory_ledger l WHERE {scope l} AND l.memory_id = p.memory_id
          AND l.transition = ANY (%(emptied)s::text[]) LIMIT 1) IS NOT NULL
FROM {family}_memory_proposals p LEFT JOIN LATERAL (
    SELECT jsonb_agg(l.detail || jsonb_build_object('position', l.position, 'at', l.at,
        'actor', l.actor_kind || ':' || l.actor, 'transition', l.transition) ORDER BY l.position) AS links
    FROM {family}_memory_ledger l WHERE {scope l} AND l.memory_id = p.memory_id
      AND l.decision NOT IN ('NOOP', 'REJECT')
      AND l.detail ->> 'proposal' = p.proposal_id::text) told ON true
WHERE {scope p} AND p.proposal_id > %(after)s ORDER BY p.proposal_id LIMIT %(limit)s

-- query: lost_proposals
SELECT l.memory_id, l.detail ->> 'proposal', l.position FROM {family}_memory_ledger l
WHERE {scope l} AND l.transition IN ('rule_proposed', 'revision_signalled', 'sameness_proposed') AND l.decision = 'ADD'
  AND (SELECT p.memory_id FROM {family}_memory_proposals p WHERE {scope p}
       AND p.proposal_id::text = l.detail ->> 'proposal' LIMIT 1) IS NULL
ORDER BY l.position LIMIT %(limit)s

-- query: references
-- References to one noun that are not as the link that added their entry names them: missing, made
-- up, at another row or version. A link older than pins names no version. Joined whole, because only
-- that keeps the planner from joining without an index.
WITH told AS MATERIALIZED (
    SELECT l.memory_id, l.position, e.ref ->> 'ref_id' AS ref_id, e.ref ->> 'id' AS id,
           e.ref ->> 'version' AS version
    FROM {family}_memory_ledger l CROSS JOIN LATERAL jsonb_array_elements(l.detail -> 'refs') AS e (ref)
    WHERE {scope l} AND l.state_from IS NULL AND l.detail ->> 'content_hash' IS NOT NULL
      AND jsonb_typeof(l.detail -> 'refs') = 'array' AND e.ref ->> 'noun' = '{noun}'
), held AS MATERIALIZED (
    SELECT r.memory_id, r.ref_id::text AS ref_id, r.{canonical_id}::text AS id, {pinned} AS version,
           (SELECT (m.created_at = r.created_at AND m.provenance IS NOT DISTINCT FROM r.provenance)
            FROM {family}_memory m WHERE {scope m} AND m.memory_id = r.memory_id LIMIT 1) AS written
    FROM {family}_memory_{noun}_refs r WHERE {scope r}
)
SELECT coalesce(h.memory_id, t.memory_id), t.position, h.ref_id IS NULL, t.ref_id IS NULL
FROM told t FULL JOIN held h ON h.memory_id = t.memory_id AND h.ref_id = t.ref_id
WHERE CASE WHEN h.ref_id IS NULL THEN (
               SELECT m.memory_id FROM {family}_memory m
               WHERE {scope m} AND m.memory_id = t.memory_id LIMIT 1) IS NOT NULL
           ELSE t.ref_id IS NULL OR h.id <> t.id OR h.written IS NOT TRUE
                OR h.version <> t.version END
ORDER BY 2 LIMIT %(limit)s

-- query: scopes
-- Sessions and interactions that are not as the links that opened and closed them say. A second
-- close finds nothing to do, and its link (NOOP) says nothing of the scope.
WITH opened AS MATERIALIZED (
    SELECT DISTINCT ON (l.detail ->> 'scope') l.detail ->> 'scope' AS scope, l.position, l.at,
           l.detail ->> 'session' AS session, l.transition, l.actor_kind || ':' || l.actor AS actor
    FROM {family}_memory_ledger l
    WHERE {scope l} AND l.memory_id IS NULL AND l.decision = 'ADD'
      AND l.transition IN ('session_opened', 'interaction_opened')
    ORDER BY l.detail ->> 'scope', l.position
), closed AS MATERIALIZED (
    SELECT l.detail ->> 'scope' AS scope, min(l.at) AS at FROM {family}_memory_ledger l
    WHERE {scope l} AND l.memory_id IS NULL AND l.decision <> 'NOOP'
      AND l.transition IN ('session_closed', 'interaction_closed')
    GROUP BY 1
), held AS MATERIALIZED (
    SELECT s.*, s.scope_id::text AS scope FROM {family}_memory_scopes s WHERE {scope s}
)
SELECT o.position, h.scope IS NULL, o.position IS NULL, coalesce(h.scope, o.scope)
FROM (
    SELECT coalesce(o.scope, c.scope) AS scope, o.position, o.at, o.session, o.transition, o.actor,
           c.at AS closed_at
    FROM opened o FULL JOIN closed c ON c.scope = o.scope) o
FULL JOIN held h ON h.scope = o.scope
WHERE h.scope IS NULL OR o.position IS NULL
   OR (h.tier || '_opened', h.session_id::text, h.opened_at, h.opened_by)
      IS DISTINCT FROM (o.transition, o.session, o.at, o.actor)
   OR h.closed_at IS DISTINCT FROM o.closed_at
ORDER BY 1 LIMIT %(limit)s

-- query: receipts
-- Idempotency keys beside what the link that each stands for says of it. The key is the caller's
-- and not told.
SELECT r.idempotency_key, r.position, r.request_digest, r.salt, l.position IS NOT NULL,
       l.detail ->> 'key_hash'
FROM {family}_memory_receipts r
LEFT JOIN {family}_memory_ledger l ON {scope l} AND l.position = r.position
WHERE {scope r} AND (r.idempotency_key, r.position) > (%(after)s::text, %(then)s::bigint)
ORDER BY r.idempotency_key, r.position LIMIT %(limit)s

-- query: lost_keys
-- Links that an idempotency key stood for, and no row says so any more.
SELECT found.position FROM (
    SELECT l.position FROM {family}_memory_ledger l
    WHERE {scope l} AND l.detail ->> 'key_hash' IS NOT NULL
    EXCEPT SELECT r.position FROM {family}_memory_receipts r WHERE {scope r}) found
ORDER BY 1 LIMIT %(limit)s

-- query: reads
-- Who was shown what, in the order in which a link's hash goes over it, each as the text that enters.
SELECT r.read_id, r.memory_id, r.session_id, r.interaction_id,
       trunc(extract(epoch FROM r.read_at) * 1000000)::text, r.read_by, r.witness
FROM {family}_memory_reads r
WHERE {scope r} AND (r.read_id, r.memory_id) > (%(after)s::uuid, %(then)s::uuid)
ORDER BY r.read_id, r.memory_id LIMIT %(limit)s

-- query: witnessed_reads
-- What links say of reads: how many they tell of, and what an erasure left of those.
SELECT l.position, l.detail -> 'reads', l.detail -> 'reads_left' FROM {family}_memory_ledger l
WHERE {scope l} AND (jsonb_typeof(l.detail -> 'reads') = 'object'
    OR jsonb_typeof(l.detail -> 'reads_left') = 'object')
ORDER BY l.position

-- query: reads_left
-- What is left of the reads that some links tell of, after an erasure took others of them.
SELECT r.witness, count(*), encode(sha256(convert_to(string_agg(idetic.read_content_v1(r.read_id,
           r.memory_id, r.session_id, r.interaction_id, r.read_at, r.read_by), ''
           ORDER BY r.read_id, r.memory_id), 'UTF8')), 'hex')
FROM {family}_memory_reads r
WHERE {scope r} AND r.witness = ANY (%(positions)s::bigint[]) GROUP BY r.witness

-- query: telling
-- The links that tell of reads of some entries.
SELECT DISTINCT r.witness FROM {family}_memory_reads r
WHERE {scope r} AND r.memory_id = ANY (%(ids)s::uuid[]) AND r.witness IS NOT NULL ORDER BY 1

-- query: erasures
-- What erasures emptied, and whether one took the whole anchor.
SELECT l.position, l.detail -> 'removed', l.detail -> 'counts' IS NOT NULL FROM {family}_memory_ledger l
WHERE {scope l} AND l.transition = 'erasure' ORDER BY l.position

-- query: unrooted
-- Entries that say that they belong to another root than their anchor.
SELECT m.memory_id FROM {family}_memory m JOIN {family}_memory_anchors a ON {scope a}
WHERE {scope m} AND m.{root_id} <> a.{root_id} ORDER BY 1 LIMIT %(limit)s

-- query: root
-- Whether the anchor's row names the root that has its keys.
SELECT a.{root_id} = (SELECT c.{root_id} FROM {root} c WHERE {keys_match}) FROM {family}_memory_anchors a
WHERE {scope a}

-- query: unrecorded_actions
-- Actions that claim to rest on an entry whose history does not say so, or says it of another kind,
-- time or actor.
SELECT a.memory_id, a.action_id, told.position
FROM {family}_memory_actions a LEFT JOIN LATERAL (
    SELECT l.position, l.at, l.detail ->> 'kind' AS kind, l.actor_kind || ':' || l.actor AS actor
    FROM {family}_memory_ledger l WHERE {scope l} AND l.memory_id = a.memory_id
      AND l.transition = 'action_linked' AND l.detail ->> 'action' = a.action_id::text
    ORDER BY l.position LIMIT 1) told ON true
WHERE {scope a} AND (told.position IS NULL OR (a.action_kind, a.linked_at, a.linked_by)
    IS DISTINCT FROM (told.kind, told.at, told.actor))
ORDER BY a.action_id, a.memory_id LIMIT %(limit)s

-- query: lost_actions
-- And the other way round: the history says that an action rests on the entry, and nothing holds it.
SELECT l.memory_id, l.detail ->> 'action', l.position FROM {family}_memory_ledger l
WHERE {scope l} AND l.transition = 'action_linked' AND (
    SELECT a.memory_id FROM {family}_memory_actions a WHERE {scope a} AND a.memory_id = l.memory_id
      AND a.action_id::text = l.detail ->> 'action' LIMIT 1) IS NULL
ORDER BY l.position LIMIT %(limit)s

-- query: action
-- What an action rested on, each entry with the link that says so: up to there goes what was known.
SELECT a.memory_id, a.action_kind, a.linked_at, a.linked_by, coalesce(told.position, 0), told.reason
FROM {family}_memory_actions a LEFT JOIN LATERAL (
    SELECT l.position, l.reason FROM {family}_memory_ledger l
    WHERE {scope l} AND l.memory_id = a.memory_id AND l.transition = 'action_linked'
      AND l.detail ->> 'action' = a.action_id::text
    ORDER BY l.position LIMIT 1) told ON true
WHERE {scope a} AND a.action_id = %(action_id)s ORDER BY 5, 1

-- query: rows
-- Entries by id, whatever became of them.
SELECT {columns} FROM {family}_memory m WHERE {scope m} AND m.memory_id = ANY (%(ids)s::uuid[])

-- query: histories
-- The histories of some entries whole: what came after a moment is taken back from what is now.
SELECT l.position, l.at, l.transition, l.memory_id, l.actor_kind, l.actor, l.decision, l.reason,
       l.state_from, l.state_to, l.detail, l.receipt_id, l.prev_hash, l.hash,
       (SELECT max(i.position) FROM {family}_memory_ledger i
        WHERE {scope i} AND i.transition = 'anchor_imported' AND i.position > l.position)
FROM {family}_memory_ledger l
WHERE {scope l} AND l.memory_id = ANY (%(ids)s::uuid[]) ORDER BY l.position

-- query: went_into
-- What went with its scope into some entries: those that only said the same again leave no row of
-- lineage when the entry was there before them. A scan of the chain, for an auditor's patience.
SELECT l.detail ->> 'into', l.memory_id, l.position FROM {family}_memory_ledger l
WHERE {scope l} AND l.transition IN ('dropped', 'kept') AND l.detail ->> 'into' = ANY (%(ids)s::text[])
ORDER BY l.position

-- query: shown
-- Who was shown an entry up to a moment.
SELECT r.memory_id, r.read_by, r.read_at, r.session_id, r.interaction_id
FROM {family}_memory_reads r
WHERE {scope r} AND r.memory_id = ANY (%(ids)s::uuid[]) AND r.read_at <= %(moment)s
ORDER BY r.read_at, r.read_id LIMIT %(limit)s

-- query: versions
-- The versions at which some canonical rows stand now.
SELECT c.{canonical_id}, c.{canonical_version} FROM {canonical} c
WHERE {of_tenant c} AND c.{canonical_id} = ANY (%(ids)s::uuid[])

-- query: actions
-- Actions that rest on memory, newest first. Their ids are whatever the caller chose, so a page
-- begins after the time and the id of the last one before it.
WITH linked AS (
    SELECT a.action_id, min(a.linked_at) AS at, min(a.action_kind) AS kind, min(a.linked_by) AS by,
           count(*) AS entries
    FROM {family}_memory_actions a WHERE {scope a} GROUP BY a.action_id)
SELECT n.action_id, n.kind, n.at, n.by, n.entries, coalesce(told.reason, '')
FROM linked n LEFT JOIN LATERAL (
    SELECT l.reason FROM {family}_memory_ledger l JOIN {family}_memory_actions a
        ON {scope a} AND a.action_id = n.action_id AND l.memory_id = a.memory_id
    WHERE {scope l} AND l.transition = 'action_linked' AND l.detail ->> 'action' = n.action_id::text
    ORDER BY l.position LIMIT 1) told ON true
WHERE %(before)s::uuid IS NULL
   OR (n.at, n.action_id) < (SELECT b.at, b.action_id FROM linked b WHERE b.action_id = %(before)s)
ORDER BY n.at DESC, n.action_id DESC LIMIT %(limit)s

-- query: readers
-- Who was shown one entry, newest first.
SELECT r.read_by, r.read_at, r.session_id, r.interaction_id FROM {family}_memory_reads r
WHERE {scope r} AND r.memory_id = %(entry_id)s ORDER BY r.read_at DESC, r.read_id DESC LIMIT %(limit)s

-- query: misplaced_mirrors
-- Entries of a log whose event, loop or weight is not the one that the link which added them names.
SELECT m.memory_id, l.position FROM {family}_memory m
JOIN {family}_memory_ledger l ON {scope l} AND l.memory_id = m.memory_id AND l.decision = 'ADD'
    AND l.state_from IS NULL AND l.detail ->> 'content_hash' IS NOT NULL
WHERE {scope m} AND (m.event_id::text IS DISTINCT FROM l.detail ->> 'event'
    OR m.loop_id::text IS DISTINCT FROM l.detail ->> 'loop'
    OR l.detail ? 'importance' AND m.importance IS DISTINCT FROM (l.detail ->> 'importance')::real)
ORDER BY l.position LIMIT %(limit)s

-- query: said
-- What a session still holds, oldest first.
SELECT {columns} FROM {family}_memory m
WHERE {scope m} AND m.session_id = %(session)s AND m.deleted_at IS NULL
ORDER BY m.memory_id LIMIT %(limit)s

-- query: made_of
-- What was made of some entries.
SELECT g.source_id, g.memory_id FROM {family}_memory_lineage g
WHERE {scope g} AND g.source_id = ANY (%(ids)s::uuid[]) ORDER BY g.memory_id

-- query: shown_in
-- What was recalled in a session, or beside it while it was going on: a prompt that names no session
-- belongs to the conversation of its time.
SELECT r.memory_id, r.read_at FROM {family}_memory_reads r
WHERE {scope r} AND (r.session_id = %(session)s
    OR r.session_id IS NULL AND r.read_at >= %(since)s AND r.read_at <= %(until)s)
ORDER BY r.read_at, r.read_id LIMIT %(limit)s

-- query: origin
-- Where the chain was moved from by `spec migrate`, and where to: each time, in order.
SELECT l.detail -> 'from', l.detail -> 'to' FROM {family}_memory_ledger l
WHERE {scope l} AND l.transition = 'anchor_imported' AND l.detail -> 'from' IS NOT NULL
ORDER BY l.position
