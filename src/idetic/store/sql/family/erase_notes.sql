UPDATE {table} m SET {no_notes}
WHERE {anchor_is_p_m} AND m.memory_id = wanted AND m.{row_id} = ANY (p_rows);
