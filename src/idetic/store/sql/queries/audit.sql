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
       coalesce(m.provenance, '{}'), added.detail
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

-- query: lost_receipts
-- Idempotency keys that stand for a link that is not there. The key is the caller's and not told.
SELECT r.position FROM {family}_memory_receipts r
WHERE {scope r}
  AND (SELECT l.position FROM {family}_memory_ledger l
       WHERE {scope l} AND l.position = r.position LIMIT 1) IS NULL
ORDER BY r.position LIMIT %(limit)s

-- query: unrecorded_actions
-- Actions that claim to rest on an entry whose history does not say so.
SELECT a.memory_id, a.action_id FROM {family}_memory_actions a
WHERE {scope a} AND (
    SELECT l.position FROM {family}_memory_ledger l WHERE {scope l} AND l.memory_id = a.memory_id
      AND l.transition = 'action_linked' AND l.detail ->> 'action' = a.action_id::text LIMIT 1) IS NULL
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
       l.state_from, l.state_to, l.detail, l.receipt_id, l.prev_hash, l.hash
FROM {family}_memory_ledger l
WHERE {scope l} AND l.memory_id = ANY (%(ids)s::uuid[]) ORDER BY l.position

-- query: went_into
-- What went with its scope into some entries: those that only said the same again leave no row of
-- lineage when the entry was there before them. A scan of the chain, for an auditor's patience.
SELECT l.detail ->> 'into', l.memory_id, l.position FROM {family}_memory_ledger l
WHERE {scope l} AND l.transition = 'dropped' AND l.detail ->> 'into' = ANY (%(ids)s::text[])
ORDER BY l.position

-- query: reads
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
-- Entries of a log whose event or loop is not the one that the link which added them names.
SELECT m.memory_id, l.position FROM {family}_memory m
JOIN {family}_memory_ledger l ON {scope l} AND l.memory_id = m.memory_id AND l.decision = 'ADD'
WHERE {scope m} AND (m.event_id::text IS DISTINCT FROM l.detail ->> 'event'
    OR m.loop_id::text IS DISTINCT FROM l.detail ->> 'loop')
ORDER BY l.position LIMIT %(limit)s
