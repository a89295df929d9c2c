-- query: confirmed
greatest(m.valid_at, (SELECT max(c.corroborated_at) FROM {corroborations} c
    WHERE {scope_c} AND c.memory_id = m.memory_id AND c.withdrawn_at IS NULL))
