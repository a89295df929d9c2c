-- query: confirmed
-- By the entry's id alone: recall asks it of rows that carry no anchor any more.
greatest(m.valid_at, (SELECT max(c.corroborated_at) FROM {family}_memory_corroborations c
    WHERE {scope c} AND c.memory_id = m.memory_id AND c.withdrawn_at IS NULL
      AND c.source_type NOT IN ('agent_inference', 'cross_version_carry')))

-- query: changed
-- When the text of a canonical row changed to which an entry refers, until an operator has decided
-- about the entry.
(SELECT max(l.at) FROM {family}_memory_ledger l
 WHERE {scope l} AND l.memory_id = m.memory_id AND l.transition = 'canonical_changed'
   AND NOT EXISTS (SELECT FROM {family}_memory_ledger k
       WHERE {scope k} AND k.memory_id = l.memory_id AND k.position > l.position
         AND k.actor_kind = 'operator'
         AND k.transition IN ('corroborated', 'promoted', 'exempted', 'undone')))
