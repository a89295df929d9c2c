-- query: get
-- One entry of the scope, whatever became of it.
SELECT {columns} FROM {memory} m WHERE {scope_m} AND m.memory_id = {memory_id}

-- query: list
-- The current view, newest first; ids are time-ordered, so the id is the cursor.
SELECT {columns} FROM {memory} m
WHERE {scope_m} AND m.archived_at IS NULL AND m.superseded_at IS NULL
  AND m.invalidated_at IS NULL AND m.deleted_at IS NULL
  AND ({tier}::idetic.tier IS NULL OR m.tier = {tier})
  AND ({typology}::idetic.typology IS NULL OR m.typology = {typology})
  AND ({session_id}::uuid IS NULL OR m.session_id = {session_id})
  AND ({interaction_id}::uuid IS NULL OR m.interaction_id = {interaction_id})
  AND ({before}::uuid IS NULL OR m.memory_id < {before}) AND {where}
ORDER BY m.memory_id DESC LIMIT {limit}

-- query: about
-- The current entries whose claim is about one of the subjects. NOT NULL is said for the planner:
-- the index of claims holds no others.
SELECT {columns} FROM {memory} m
WHERE {scope_m} AND m.claim_subject IS NOT NULL AND m.claim_subject = ANY ({subjects}::text[])
  AND m.archived_at IS NULL AND m.superseded_at IS NULL AND m.invalidated_at IS NULL
  AND m.deleted_at IS NULL
ORDER BY m.memory_id

-- query: tally
-- What values one key of the envelope has among the current entries, and how often each.
SELECT m.envelope ->> {key}, count(*) FROM {memory} m
WHERE {scope_m} AND m.archived_at IS NULL AND m.superseded_at IS NULL
  AND m.invalidated_at IS NULL AND m.deleted_at IS NULL AND m.envelope ->> {key} IS NOT NULL
  AND {where}
GROUP BY 1 ORDER BY 1

-- query: last_read
-- When each of these entries was last put before somebody.
SELECT r.memory_id, max(r.read_at) FROM {reads} r
WHERE {scope_r} AND r.memory_id = ANY ({ids}::uuid[]) GROUP BY 1

-- query: as_of
-- What was current at a moment. From the ledger and not from the state columns: those say
-- what is, and an undone archive would rewrite the past.
SELECT {columns} FROM {memory} m
CROSS JOIN LATERAL (
    SELECT l.state_to FROM {ledger} l
    WHERE {scope_l} AND l.memory_id = m.memory_id AND l.at <= {moment} AND l.state_to IS NOT NULL
    ORDER BY l.position DESC LIMIT 1) AS past
WHERE {scope_m} AND m.created_at <= {moment} AND past.state_to = 'current'
  AND ({before}::uuid IS NULL OR m.memory_id < {before})
ORDER BY m.memory_id DESC LIMIT {limit}

-- query: overdue
-- The other ranking of time: recall favours what is fresh, disposition what is overdue. Exempt
-- entries and typologies that do not decay are not pressed on.
SELECT 1 - {fresh} AS pressure, {columns} FROM {memory} m
WHERE {scope_m} AND m.tier = 'persistent' AND m.exempt_at IS NULL AND m.archived_at IS NULL
  AND m.superseded_at IS NULL AND m.invalidated_at IS NULL AND m.deleted_at IS NULL
  AND {fresh} < 1
ORDER BY pressure DESC, m.memory_id LIMIT {limit}

-- query: history
-- Every link of the chain that concerns one entry, oldest first.
SELECT l.position, l.at, l.transition, l.memory_id, l.actor_kind, l.actor, l.decision, l.reason,
       l.state_from, l.state_to, l.detail, l.receipt_id, l.prev_hash, l.hash
FROM {ledger} l WHERE {scope_l} AND l.memory_id = {memory_id} ORDER BY l.position

-- query: refs
-- The references of one entry to one canonical noun, as (noun, id, version).
SELECT coalesce(jsonb_agg(jsonb_build_array({noun}, r.{canonical_id}, {pinned}) ORDER BY r.ref_id), '[]')
FROM {refs} r WHERE {scope_r} AND r.memory_id = m.memory_id
