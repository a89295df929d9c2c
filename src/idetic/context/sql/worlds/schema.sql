-- The reference canonical context of the World Agent: worlds, rules with a logical identity,
-- and their versions. A user's own tables may stand here instead; the spec names them.
CREATE SCHEMA IF NOT EXISTS worlds;
GRANT USAGE ON SCHEMA worlds TO idetic_app, idetic_guard, idetic_curator, idetic_auditor;

-- One world per (org, domain): what `world_id` on every entry points to, 1:1.
CREATE TABLE worlds.worlds (
    org_id uuid NOT NULL,
    domain_id uuid NOT NULL,
    world_id uuid NOT NULL,
    name text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT worlds_pkey PRIMARY KEY (org_id, world_id),
    CONSTRAINT worlds_anchor UNIQUE (org_id, domain_id),
    CONSTRAINT worlds_anchor_world UNIQUE (org_id, domain_id, world_id),
    CONSTRAINT worlds_name CHECK (char_length(name) BETWEEN 1 AND 200)
);

-- A rule keeps its id across world model versions; this row is what holds now.
CREATE TABLE worlds.rules (
    org_id uuid NOT NULL,
    rule_id uuid NOT NULL,
    world_id uuid NOT NULL,
    version integer NOT NULL,
    body_text text NOT NULL,
    source_strength idetic.source_strength NOT NULL,
    world_model_version text,
    changed_at timestamptz NOT NULL,
    retired_at timestamptz,
    CONSTRAINT rules_pkey PRIMARY KEY (org_id, rule_id),
    CONSTRAINT rules_world FOREIGN KEY (org_id, world_id)
        REFERENCES worlds.worlds (org_id, world_id) ON DELETE RESTRICT,
    CONSTRAINT rules_version CHECK (version >= 1),
    CONSTRAINT rules_body CHECK (char_length(body_text) BETWEEN 1 AND 20000)
);

-- Every version a rule ever had; references pin one of these.
CREATE TABLE worlds.rule_versions (
    org_id uuid NOT NULL,
    rule_id uuid NOT NULL,
    version integer NOT NULL,
    body_text text NOT NULL,
    source_strength idetic.source_strength NOT NULL,
    world_model_version text,
    created_at timestamptz NOT NULL,
    CONSTRAINT rule_versions_pkey PRIMARY KEY (org_id, rule_id, version),
    CONSTRAINT rule_versions_rule FOREIGN KEY (org_id, rule_id)
        REFERENCES worlds.rules (org_id, rule_id) ON DELETE RESTRICT
);

-- The exclusive lock meets the shadow guard's shared one, per tenant.
CREATE FUNCTION worlds.rules_lock_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('worlds.rules' || NEW.org_id::text, 0));
    RETURN NEW;
END
$$;
CREATE TRIGGER shadow_lock BEFORE INSERT OR UPDATE OF body_text ON worlds.rules
    FOR EACH ROW EXECUTE FUNCTION worlds.rules_lock_v1();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON worlds.rule_versions
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON worlds.rule_versions
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();

-- A tenant's canon is its own; agents read it, only the curator writes it. The guard's policy
-- is unconditional because its functions carry the tenant themselves (a policy with a setting
-- would cost it the trigram index).
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['worlds', 'rules', 'rule_versions'] LOOP
        EXECUTE format('ALTER TABLE worlds.%I ENABLE ROW LEVEL SECURITY', wanted);
        EXECUTE format('ALTER TABLE worlds.%I FORCE ROW LEVEL SECURITY', wanted);
        EXECUTE format('GRANT SELECT ON worlds.%I TO idetic_app, idetic_guard, idetic_auditor', wanted);
        EXECUTE format('GRANT SELECT, INSERT ON worlds.%I TO idetic_curator', wanted);
        EXECUTE format($policy$CREATE POLICY tenant_scope ON worlds.%I FOR ALL
            TO idetic_app, idetic_curator, idetic_auditor
            USING (org_id = nullif(split_part(current_setting('idetic.scope', true), chr(31), 2), '')::uuid)
            WITH CHECK (org_id = nullif(split_part(current_setting('idetic.scope', true), chr(31), 2), '')::uuid)$policy$, wanted);
        EXECUTE format('CREATE POLICY guard_reads ON worlds.%I FOR SELECT TO idetic_guard USING (true)', wanted);
    END LOOP;
END
$$;
GRANT UPDATE (version, body_text, source_strength, world_model_version, changed_at, retired_at)
    ON worlds.rules TO idetic_curator;
