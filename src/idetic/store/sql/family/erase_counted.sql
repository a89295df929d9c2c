r_table := {table_text};
SELECT array_agg(m.{row_id}::text ORDER BY m.{row_id}) INTO r_ids FROM {table} m
WHERE {anchor_is_p_m} AND num_nonnulls({notes}) > 0
  AND (m.memory_id = ANY (p_ids) OR m.memory_id = ANY (p_noted) AND m.{row_id} = ANY (p_rows));
RETURN NEXT;
