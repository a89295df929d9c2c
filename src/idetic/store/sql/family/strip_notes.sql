UPDATE {table} m SET {no_notes} WHERE {anchor_is_p_m} AND m.memory_id = wanted;
