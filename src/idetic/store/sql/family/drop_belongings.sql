DELETE FROM {table} m WHERE {anchor_is_p_m} AND m.memory_id = ANY (p_ids);
