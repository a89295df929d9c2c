-- query: sourced
-- Entries in any state that come from a source. What was made of others comes from where those came
-- from, whoever closed the scope that made it; what was stated comes from who stated it. A source
-- that went with its scope is still named in the lineage, and its author in the ledger.
SELECT m.memory_id FROM {family}_memory m
WHERE {scope m} AND CASE
    WHEN EXISTS (SELECT FROM {family}_memory_lineage l
                 WHERE {scope l} AND l.memory_id = m.memory_id AND l.relation <> 'recurred')
    THEN EXISTS (SELECT FROM {family}_memory_lineage l
                 WHERE {scope l} AND l.memory_id = m.memory_id AND l.relation <> 'recurred' AND {behind})
    ELSE {stated} END

-- query: author
-- Whoever stated a source, though its row may be gone.
EXISTS (SELECT FROM {family}_memory_ledger k WHERE {scope k} AND k.memory_id = l.source_id
        AND k.transition IN ('observed', 'preferred', 'imported') AND k.decision IN ('ADD', 'UPDATE')
        AND k.actor_kind || ':' || k.actor = %(created_by)s::text)

-- query: derived
-- What was made of some entries, and of that, and so on; what only said the same again was not.
WITH RECURSIVE made (memory_id) AS (
    SELECT l.memory_id FROM {family}_memory_lineage l
    WHERE {scope l} AND l.source_id = ANY (%(ids)s::uuid[]) AND l.relation <> 'recurred'
    UNION
    SELECT l.memory_id FROM made JOIN {family}_memory_lineage l
        ON {scope l} AND l.source_id = made.memory_id AND l.relation <> 'recurred')
SELECT made.memory_id FROM made

-- query: vouched
-- What the source said for entries that are not its own.
SELECT c.corroboration_id, c.memory_id FROM {family}_memory_corroborations c
WHERE {scope c} AND c.withdrawn_at IS NULL AND NOT c.memory_id = ANY (%(ids)s::uuid[]) AND {spoken}
ORDER BY c.corroboration_id

-- query: opposed
-- What the source said against entries that are not its own.
SELECT l.memory_id, l.detail ->> 'source_type', l.detail ->> 'source_ref'
FROM {family}_memory_ledger l
WHERE {scope l} AND l.transition = 'corroboration_failed'
  AND NOT l.memory_id = ANY (%(ids)s::uuid[]) AND {said}

-- query: link
l.position, l.at, l.transition, l.memory_id, l.actor_kind, l.actor, l.decision, l.reason,
l.state_from, l.state_to, l.detail, l.receipt_id, l.prev_hash, l.hash

-- query: replaced
-- What entries took the place of.
SELECT {link} FROM {family}_memory_ledger l
WHERE {scope l} AND l.transition IN ('superseded', 'invalidated', 'archived')
  AND coalesce(l.detail ->> 'replaced_by', l.detail ->> 'superseded_by', l.detail ->> 'into')::uuid
      = ANY (%(ids)s::uuid[])
ORDER BY l.position

-- query: turned
-- The links of one kind that changed some entries.
SELECT {link} FROM {family}_memory_ledger l
WHERE {scope l} AND l.memory_id = ANY (%(ids)s::uuid[]) AND l.transition = %(transition)s::text
  AND l.decision <> 'NOOP'
ORDER BY l.position

-- query: quarantines
-- The quarantines of a scope, newest first, each with its release: the link that undid it, unless
-- that was undone in turn. A decision's links share a receipt, and its first is what is undone.
SELECT {link}, released.at, released.by, released.reason FROM {family}_memory_ledger l
LEFT JOIN LATERAL (
    SELECT min(k.position), min(k.at) AS at, min(k.actor_kind || ':' || k.actor) AS by,
           min(k.reason) AS reason
    FROM {family}_memory_ledger k
    WHERE {scope k} AND k.anchor_id = l.anchor_id AND k.transition = 'undone'
      AND k.position > l.position AND k.detail ->> 'undone' = l.position::text
    GROUP BY k.receipt_id
    HAVING (SELECT count(*) FROM {family}_memory_ledger r
            WHERE {scope r} AND r.anchor_id = l.anchor_id AND r.transition = 'undone'
            AND r.detail ->> 'undone' = min(k.position)::text) = 0
    ORDER BY 1 DESC LIMIT 1) released ON true
WHERE {scope l} AND l.transition = 'quarantined' AND l.decision = 'UPDATE'
ORDER BY l.at DESC, l.position DESC LIMIT %(limit)s
