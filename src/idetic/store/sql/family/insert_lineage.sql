FOR source IN SELECT l.* FROM jsonb_to_recordset(item.lineage) AS l(source_id uuid, relation idetic.relation,
    session_id uuid, interaction_id uuid, provenance jsonb, origin idetic.origin, trust smallint,
    observed_at timestamptz)
LOOP
    INSERT INTO {lineage} ({anchor}, memory_id, source_id, relation, session_id, interaction_id,
        {provenance_columns} origin, trust, observed_at)
    VALUES ({anchor_p}, item.memory, source.source_id, source.relation, source.session_id,
        source.interaction_id, {provenance_lineage} source.origin, source.trust, source.observed_at)
    ON CONFLICT ({anchor}, memory_id, source_id) DO NOTHING;
END LOOP;
