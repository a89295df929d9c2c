ELSIF item.op = 'corroborate' THEN
    INSERT INTO {corroborations} ({anchor}, corroboration_id, memory_id, source_type, source_ref,
        {provenance_columns} corroborated_at, corroborated_by, session_id, origin, notes)
    VALUES ({anchor_p}, item.row_id, item.memory, item.source_type, item.source_ref,
        {provenance_values} least(item.seen_at, r_at), p_kind || ':' || p_name, item.session, item.origin, item.notes);
ELSIF item.op = 'withdraw' THEN
    UPDATE {corroborations} m SET withdrawn_at = r_at
    WHERE {anchor_is_p_m} AND m.corroboration_id = item.row_id;
ELSIF item.op = 'reinstate' THEN
    UPDATE {corroborations} m SET withdrawn_at = NULL
    WHERE {anchor_is_p_m} AND m.corroboration_id = item.row_id;
