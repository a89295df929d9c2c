jsonb_to_recordset(p_steps) AS x(
    op text, receipt uuid, memory uuid, transition text, decision idetic.decision, reason text,
    state_from text, state_to text, detail jsonb, ids uuid[], turned jsonb,
    tier idetic.tier, typology idetic.typology, session uuid, interaction uuid, body text,
    substance smallint, envelope jsonb, claim jsonb, provenance jsonb, origin idetic.origin,
    trust smallint, valid_at timestamptz, invalid_at timestamptz, candidate boolean, salt text,
    hash text, refs jsonb, copy_of uuid, embedding uuid, lineage jsonb, row_id uuid, noun text,
    seen_at timestamptz, source_type idetic.source_type, source_ref uuid, notes text, status idetic.contradiction_status)
