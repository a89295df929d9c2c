-- query: sourced
-- Entries in any state that come from a source. What was made of others comes from where those came
-- from, whoever closed the scope that made it; what was stated comes from who stated it. A source
-- that went with its scope is still named in the lineage, and its author in the ledger.
SELECT m.memory_id FROM {memory} m
WHERE {scope_m} AND CASE
    WHEN EXISTS (SELECT FROM {lineage} l WHERE {scope_l} AND l.memory_id = m.memory_id AND l.relation <> 'recurred')
    THEN EXISTS (SELECT FROM {lineage} l
                 WHERE {scope_l} AND l.memory_id = m.memory_id AND l.relation <> 'recurred' AND {behind})
    ELSE {stated} END

-- query: author
-- Whoever stated a source, though its row may be gone.
EXISTS (SELECT FROM {ledger} k WHERE {scope_k} AND k.memory_id = l.source_id
        AND k.transition IN ('observed', 'preferred', 'imported') AND k.decision IN ('ADD', 'UPDATE')
        AND k.actor_kind || ':' || k.actor = {created_by})

-- query: derived
-- What was made of some entries, and of that, and so on; what only said the same again was not.
WITH RECURSIVE made (memory_id) AS (
    SELECT l.memory_id FROM {lineage} l
    WHERE {scope_l} AND l.source_id = ANY ({ids}) AND l.relation <> 'recurred'
    UNION
    SELECT l.memory_id FROM made JOIN {lineage} l
        ON {scope_l} AND l.source_id = made.memory_id AND l.relation <> 'recurred')
SELECT made.memory_id FROM made

-- query: vouched
-- What the source said for entries that are not its own.
SELECT c.corroboration_id, c.memory_id FROM {corroborations} c
WHERE {scope_c} AND c.withdrawn_at IS NULL AND NOT c.memory_id = ANY ({ids}) AND {spoken}
ORDER BY c.corroboration_id

-- query: opposed
-- What the source said against entries that are not its own.
SELECT l.memory_id, l.detail ->> 'source_type', l.detail ->> 'source_ref' FROM {ledger} l
WHERE {scope_l} AND l.transition = 'corroboration_failed' AND NOT l.memory_id = ANY ({ids}) AND {said}

-- query: link
l.position, l.at, l.transition, l.memory_id, l.actor_kind, l.actor, l.decision, l.reason,
l.state_from, l.state_to, l.detail, l.receipt_id, l.prev_hash, l.hash

-- query: replaced
-- What entries took the place of.
SELECT {link} FROM {ledger} l
WHERE {scope_l} AND l.transition IN ('superseded', 'invalidated', 'archived')
  AND coalesce(l.detail ->> 'replaced_by', l.detail ->> 'superseded_by', l.detail ->> 'into')::uuid = ANY ({ids})
ORDER BY l.position

-- query: turned
-- The links of one kind about some entries.
SELECT {link} FROM {ledger} l
WHERE {scope_l} AND l.memory_id = ANY ({ids}) AND l.transition = {transition} ORDER BY l.position
