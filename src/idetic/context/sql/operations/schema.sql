-- The reference canonical context of the operator agent: runbooks and their versions, owned by
-- one operator each.
CREATE SCHEMA IF NOT EXISTS operations;
GRANT USAGE ON SCHEMA operations TO idetic_app, idetic_guard, idetic_curator, idetic_auditor;

-- A runbook keeps its id; this row is what holds now.
CREATE TABLE operations.runbooks (
    operator_id uuid NOT NULL,
    runbook_id uuid NOT NULL,
    version integer NOT NULL,
    body_text text NOT NULL,
    source_strength idetic.source_strength NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT runbooks_pkey PRIMARY KEY (operator_id, runbook_id),
    CONSTRAINT runbooks_body CHECK (char_length(body_text) BETWEEN 1 AND 20000)
);

-- Every version a runbook ever had; references pin one of these.
CREATE TABLE operations.runbook_versions (
    operator_id uuid NOT NULL,
    runbook_id uuid NOT NULL,
    version integer NOT NULL,
    body_text text NOT NULL,
    source_strength idetic.source_strength NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT runbook_versions_pkey PRIMARY KEY (operator_id, runbook_id, version),
    CONSTRAINT runbook_versions_runbook FOREIGN KEY (operator_id, runbook_id)
        REFERENCES operations.runbooks (operator_id, runbook_id) ON DELETE RESTRICT
);

CREATE FUNCTION operations.runbooks_lock_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('operations.runbooks' || NEW.operator_id::text, 0));
    RETURN NEW;
END
$$;
CREATE TRIGGER shadow_lock BEFORE INSERT OR UPDATE OF body_text ON operations.runbooks
    FOR EACH ROW EXECUTE FUNCTION operations.runbooks_lock_v1();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON operations.runbook_versions
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON operations.runbook_versions
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();

DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['runbooks', 'runbook_versions'] LOOP
        EXECUTE format('ALTER TABLE operations.%I ENABLE ROW LEVEL SECURITY', wanted);
        EXECUTE format('ALTER TABLE operations.%I FORCE ROW LEVEL SECURITY', wanted);
        EXECUTE format('GRANT SELECT ON operations.%I TO idetic_app, idetic_guard, idetic_auditor', wanted);
        EXECUTE format('GRANT SELECT, INSERT ON operations.%I TO idetic_curator', wanted);
        EXECUTE format($policy$CREATE POLICY tenant_scope ON operations.%I FOR ALL
            TO idetic_app, idetic_curator, idetic_auditor
            USING (operator_id = nullif(split_part(current_setting('idetic.scope', true), chr(31), 2), '')::uuid)
            WITH CHECK (operator_id = nullif(split_part(current_setting('idetic.scope', true), chr(31), 2), '')::uuid)$policy$, wanted);
        EXECUTE format('CREATE POLICY guard_reads ON operations.%I FOR SELECT TO idetic_guard USING (true)', wanted);
    END LOOP;
END
$$;
GRANT UPDATE (version, body_text, source_strength, changed_at)
    ON operations.runbooks TO idetic_curator;
