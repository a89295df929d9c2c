-- The roles. Cluster-wide, so two databases on one server may create them at once: a
-- duplicate is success. None can log in unless the operator (or the embedded server) says so.
--   idetic_owner    owns every object
--   idetic_app      what the application runs as; never an owner, never BYPASSRLS
--   idetic_guard    reads canonical bodies for the shadow guard, through its functions only
--   idetic_curator  writes the reference canonical contexts
--   idetic_auditor  reads, writes nothing
--   idetic_keeper   removes what the close of a scope leaves behind, through its function only
--   idetic_worker   sees which anchors and scopes wait for background work, and no memory
--   idetic_mover    writes an anchor that comes from an export, through its functions only
--   idetic_keys     answers whether an API key holds, through its function only
--   idetic_actor    the Actor's families, and nothing of the Subconscious's
--   idetic_subconscious  its own families; reads the Actor's, and may leave it notes
--   idetic_steward  both personas' families, for those who govern them: it alone may erase there
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY[
        'idetic_owner', 'idetic_app', 'idetic_guard', 'idetic_curator', 'idetic_auditor',
        'idetic_keeper', 'idetic_worker', 'idetic_keys', 'idetic_mover', 'idetic_actor',
        'idetic_subconscious', 'idetic_steward']
    LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
                EXECUTE format('CREATE ROLE %I NOLOGIN NOINHERIT', wanted);
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
        IF NOT pg_has_role(current_user, wanted, 'MEMBER') THEN
            EXECUTE format('GRANT %I TO CURRENT_USER', wanted);
        END IF;
    END LOOP;
    IF NOT pg_has_role('idetic_app', 'idetic_steward', 'MEMBER') THEN
        GRANT idetic_curator, idetic_auditor, idetic_worker, idetic_actor, idetic_subconscious,
            idetic_steward TO idetic_app;
    END IF;
    EXECUTE format('GRANT CREATE ON DATABASE %I TO idetic_owner', current_database());
END
$$;
