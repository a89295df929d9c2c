-- object: trigger {family}_memory_corroborations.written_once
-- Who said what is written once; only that it was withdrawn may be added. When its entry is emptied
-- its notes go too, and nothing else of it.
CREATE OR REPLACE TRIGGER written_once BEFORE UPDATE OF {anchor}, corroboration_id, memory_id,
    source_type, source_ref, {provenance_columns} corroborated_at, corroborated_by, session_id, origin,
    notes ON {corroborations}
    FOR EACH ROW WHEN (
        OLD.memory_id::text IS DISTINCT FROM current_setting('idetic.erasing', true)
        OR NEW.notes IS NOT NULL OR to_jsonb(NEW) - 'notes' <> to_jsonb(OLD) - 'notes')
    EXECUTE FUNCTION idetic.refuse_change_v1();
