-- object: trigger {family}_memory.immutable
-- After the provenance columns, which it names too.
CREATE OR REPLACE TRIGGER immutable
    BEFORE UPDATE OF {anchor}, memory_id, {root_column} tier, typology, session_id, interaction_id,
        body_text, envelope, claim_subject, claim_attribute, claim_value, lexemes, substance,
        {provenance_columns} origin, trust, spec_version, content_hash, digest_salt,
        created_at, created_by ON {memory}
    FOR EACH ROW EXECUTE FUNCTION {immutable}();
