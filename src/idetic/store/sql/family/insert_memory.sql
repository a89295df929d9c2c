INSERT INTO {memory} ({anchor}, memory_id, {root_column} tier, typology, session_id,
    interaction_id, body_text, envelope, claim_subject, claim_attribute, claim_value,
    lexemes, substance, {provenance_columns} origin, trust, valid_at, invalid_at, candidate, spec_version,
    content_hash, digest_salt, created_at, created_by)
SELECT {anchor_p}, item.memory, {root_value} item.tier, item.typology, p_session,
    p_interaction, item.body, item.envelope, item.claim ->> 'subject',
    item.claim ->> 'attribute', item.claim ->> 'value',
    to_tsvector('pg_catalog.english', item.body), item.substance, {provenance_values} item.origin, item.trust, coalesce(item.valid_at, r_at),
    item.invalid_at, coalesce(item.candidate, false), p_version, decode(item.hash, 'hex'),
    decode(item.salt, 'hex'), r_at, p_kind || ':' || p_name
