-- query: get
-- One entry of the scope, whatever became of it.
SELECT {columns} FROM {family}_memory m WHERE {scope m} AND m.memory_id = %(memory_id)s

-- query: list
-- The current view, newest first; ids are time-ordered, so the id is the cursor.
SELECT {columns} FROM {family}_memory m
WHERE {scope m} AND {live m}
  AND (%(tier)s::idetic.tier IS NULL OR m.tier = %(tier)s)
  AND (%(typology)s::idetic.typology IS NULL OR m.typology = %(typology)s)
  AND (%(session_id)s::uuid IS NULL OR m.session_id = %(session_id)s)
  AND (%(interaction_id)s::uuid IS NULL OR m.interaction_id = %(interaction_id)s)
  AND (%(before)s::uuid IS NULL OR m.memory_id < %(before)s) AND {where}
ORDER BY m.memory_id DESC LIMIT %(limit)s

-- query: about
-- The current entries whose claim is about one of the subjects. NOT NULL is said for the planner:
-- the index of claims holds no others.
SELECT {columns} FROM {family}_memory m
WHERE {scope m} AND m.claim_subject IS NOT NULL AND m.claim_subject = ANY (%(subjects)s::text[])
  AND {live m}
ORDER BY m.memory_id

-- query: ended
-- The facts with one of some claim keys that another value of the same key has ended.
SELECT {columns} FROM {family}_memory m
WHERE {scope m} AND m.tier = 'persistent' AND m.typology = 'semantic' AND NOT m.candidate
  AND (m.claim_subject, m.claim_attribute)
      IN (SELECT * FROM unnest(%(subjects)s::text[], %(attributes)s::text[]))
  AND m.invalidated_at IS NOT NULL AND m.archived_at IS NULL AND m.deleted_at IS NULL
ORDER BY m.memory_id

-- query: core
-- What was paged in and is current, oldest first.
SELECT {columns} FROM {family}_memory m
WHERE {scope m} AND m.core_at IS NOT NULL AND {live m} ORDER BY m.memory_id

-- query: tally
-- What values one key of the envelope has among the current entries, and how often each.
SELECT m.envelope ->> %(key)s::text, count(*) FROM {family}_memory m
WHERE {scope m} AND {live m} AND m.envelope ->> %(key)s::text IS NOT NULL AND {where}
GROUP BY 1 ORDER BY 1

-- query: last_read
-- When each of these entries was last put before somebody.
SELECT r.memory_id, max(r.read_at) FROM {family}_memory_reads r
WHERE {scope r} AND r.memory_id = ANY (%(ids)s::uuid[]) GROUP BY 1

-- query: as_of
-- What was current at a moment. From the ledger and not from the state columns: those say
-- what is, and an undone archive would rewrite the past.
SELECT {columns} FROM {family}_memory m
CROSS JOIN LATERAL (
    SELECT l.state_to FROM {family}_memory_ledger l
    WHERE {scope l} AND l.anchor_id = m.anchor_id AND l.memory_id = m.memory_id
      AND l.at <= %(moment)s AND l.state_to IS NOT NULL
    ORDER BY l.position DESC LIMIT 1) AS past
WHERE {scope m} AND m.created_at <= %(moment)s AND past.state_to = 'current'
  AND (%(before)s::uuid IS NULL OR m.memory_id < %(before)s)
ORDER BY m.memory_id DESC LIMIT %(limit)s

-- query: overdue
-- The other ranking of time: recall favours what is fresh, disposition what is overdue. Exempt
-- entries and typologies that do not decay are not pressed on.
SELECT 1 - {fresh} AS pressure, {columns} FROM {family}_memory m
WHERE {scope m} AND m.tier = 'persistent' AND m.exempt_at IS NULL AND {live m} AND {fresh} < 1
ORDER BY pressure DESC, m.memory_id LIMIT %(limit)s

-- query: history
-- Every link of the chain that concerns one entry, oldest first.
SELECT l.position, l.at, l.transition, l.memory_id, l.actor_kind, l.actor, l.decision, l.reason,
       l.state_from, l.state_to, l.detail, l.receipt_id, l.prev_hash, l.hash,
       (SELECT max(i.position) FROM {family}_memory_ledger i
        WHERE {scope i} AND i.transition = 'anchor_imported' AND i.position > l.position)
FROM {family}_memory_ledger l WHERE {scope l} AND l.memory_id = %(memory_id)s ORDER BY l.position

-- query: refs
-- The references of one entry to one canonical noun, as (noun, id, version).
(SELECT coalesce(jsonb_agg(jsonb_build_array('{noun}', r.{canonical_id}, {pinned}) ORDER BY r.ref_id), '[]')
 FROM {family}_memory_{noun}_refs r
 WHERE {scope r} AND r.anchor_id = m.anchor_id AND r.memory_id = m.memory_id)

-- query: key
-- One key of an entry's anchor: every other table knows the anchor by its id alone.
(SELECT b.{key} FROM {family}_memory_anchors b
 WHERE b.{tenant} = m.{tenant} AND b.anchor_id = m.anchor_id)
