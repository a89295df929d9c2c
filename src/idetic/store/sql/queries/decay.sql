-- query: confirmed
-- By the entry's id alone: recall asks it of rows that carry no anchor any more.
greatest(m.valid_at, (SELECT max(c.corroborated_at) FROM {family}_memory_corroborations c
    WHERE {scope c} AND c.memory_id = m.memory_id AND c.withdrawn_at IS NULL
      AND c.source_type <> 'agent_inference'))
