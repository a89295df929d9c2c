-- What was said in an anchor, and the claims that were drawn out of it.

-- query: turns
-- What people said, in the order of its derivation; `position` says where to go on.
SELECT l.position, {columns} FROM {family}_memory_ledger l
JOIN {family}_memory m ON {scope m} AND m.memory_id = l.memory_id
WHERE {scope l} AND l.position > %(after)s AND l.transition = 'derived'
  AND m.event_id IS NOT NULL AND m.archived_at IS NULL AND m.deleted_at IS NULL
  AND m.origin = ANY (%(origins)s::idetic.origin[])
ORDER BY l.position LIMIT %(limit)s

-- query: drawn
-- Which claims rest on some turns, in whatever state they are by now. An erased one has no claim left.
SELECT s.source_id, m.memory_id, m.claim_subject, m.claim_attribute, m.claim_value,
       m.provenance ->> 'extractor', {live m}, m.deleted_at IS NOT NULL
FROM {family}_memory_lineage s
JOIN {family}_memory m ON {scope m} AND m.memory_id = s.memory_id
WHERE {scope s} AND s.source_id = ANY (%(ids)s::uuid[])
  AND (m.claim_subject IS NOT NULL OR m.deleted_at IS NOT NULL) AND m.loop_id IS NULL
