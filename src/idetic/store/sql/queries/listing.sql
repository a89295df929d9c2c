-- query: kept
-- Entries in one retention state, newest first.
SELECT {columns} FROM {family}_memory m
WHERE {scope m} AND (%(before)s::uuid IS NULL OR m.memory_id < %(before)s) AND m.memory_id IN (
    SELECT v.memory_id FROM {family}_memory_retention v
    WHERE {scope v} AND v.retention_state = %(state)s::text)
ORDER BY m.memory_id DESC LIMIT %(limit)s

-- query: written
-- Entries that were written within some time, whatever became of them, newest first.
SELECT {columns} FROM {family}_memory m
WHERE {scope m} AND m.created_at >= %(since)s AND m.created_at < %(until)s AND NOT {evidence m}
  AND (%(tier)s::idetic.tier IS NULL OR m.tier = %(tier)s)
  AND (%(typology)s::idetic.typology IS NULL OR m.typology = %(typology)s)
  AND (%(before)s::uuid IS NULL OR m.memory_id < %(before)s)
ORDER BY m.memory_id DESC LIMIT %(limit)s

-- query: unembedded
-- Entries that wait for a vector, newest first.
SELECT {columns} FROM {family}_memory m
WHERE {scope m} AND {without_vector} AND (%(before)s::uuid IS NULL OR m.memory_id < %(before)s)
ORDER BY m.memory_id DESC LIMIT %(limit)s

-- query: refusals
-- What the guard refused within some time, newest first. By time and not by position: an open scope
-- reads several chains, and the index of refusals is by time.
SELECT l.position, l.at, l.transition, l.memory_id, l.actor_kind, l.actor, l.decision, l.reason,
       l.state_from, l.state_to, l.detail, l.receipt_id, l.prev_hash, l.hash
FROM {family}_memory_ledger l WHERE {scope l} AND l.transition = 'refused'
  AND (%(since)s::timestamptz IS NULL OR l.at >= %(since)s)
  AND (%(until)s::timestamptz IS NULL OR l.at < %(until)s)
ORDER BY l.at DESC, l.position DESC LIMIT %(limit)s

-- query: sessions
-- The open sessions, the newest first, each with its open interactions in the order of their ids.
SELECT s.scope_id, s.opened_at, s.opened_by,
       ARRAY(SELECT a.scope_id FROM {family}_memory_scopes a
             WHERE {scope a} AND a.anchor_id = s.anchor_id AND a.session_id = s.scope_id
               AND a.tier = 'interaction' AND a.closed_at IS NULL ORDER BY a.scope_id)
FROM {family}_memory_scopes s WHERE {scope s} AND s.tier = 'session' AND s.closed_at IS NULL
ORDER BY s.scope_id DESC LIMIT %(limit)s

-- query: erasures
-- What was erased on request, newest first: the link that tells of each erasure as a whole.
SELECT l.position, l.at, l.transition, l.memory_id, l.actor_kind, l.actor, l.decision, l.reason,
       l.state_from, l.state_to, l.detail, l.receipt_id, l.prev_hash, l.hash
FROM {family}_memory_ledger l
WHERE {scope l} AND l.transition = 'erasure' AND l.detail -> 'part' IS NULL
ORDER BY l.at DESC, l.position DESC LIMIT %(limit)s

-- query: refused_over
-- The rows of one noun that refused notes came near to. Through the refusals of this scope and not
-- by id: a row of another anchor is nobody's here to read.
SELECT c.{canonical_id}, c.{canonical_body} FROM {canonical} c
WHERE {of_tenant c} AND c.{canonical_id}::text IN (
    SELECT l.detail ->> 'id' FROM {family}_memory_ledger l
    WHERE {scope l} AND l.transition = 'refused' AND l.detail ->> 'noun' = %(name)s)
ORDER BY c.{canonical_id} LIMIT %(limit)s
