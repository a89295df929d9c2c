OR (m.tier <> 'persistent' AND EXISTS (
    SELECT FROM {contradictions} c WHERE {anchor_m_is_c} AND c.memory_id = m.memory_id))
