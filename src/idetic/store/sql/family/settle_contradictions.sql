ELSIF item.op = 'contradict' AND item.noun = {noun} THEN
    INSERT INTO {contradictions} ({anchor}, contradiction_id, memory_id, {canonical_id},
        {provenance_columns} observed_at, observed_by)
    VALUES ({anchor_p}, item.row_id, item.memory, item.source_ref,
        {provenance_values} r_at, p_kind || ':' || p_name);
ELSIF item.op = 'resolve' AND item.noun = {noun} THEN
    UPDATE {contradictions} m SET status = item.status, resolution_notes = item.notes,
        resolved_at = r_at, resolved_by = p_kind || ':' || p_name
    WHERE {anchor_is_p_m} AND m.contradiction_id = item.row_id;
ELSIF item.op = 'unresolve' AND item.noun = {noun} THEN
    UPDATE {contradictions} m SET status = item.status,
        resolution_notes = CASE WHEN item.status <> 'open' THEN m.previous_notes END,
        resolved_at = CASE WHEN item.status <> 'open' THEN m.previous_at END,
        resolved_by = CASE WHEN item.status <> 'open' THEN m.previous_by END
    WHERE {anchor_is_p_m} AND m.contradiction_id = item.row_id;
