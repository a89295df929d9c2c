jsonb_to_recordset(p_items) AS x(
    receipt uuid, memory uuid, transition text, tier idetic.tier, typology idetic.typology,
    body text, substance smallint, envelope jsonb, claim jsonb, provenance jsonb, origin idetic.origin,
    trust smallint, valid_at timestamptz, invalid_at timestamptz, salt text, hash text,
    detail jsonb, candidate boolean, supersede boolean, key text, digest text, refs jsonb,
    echo jsonb, form text)
