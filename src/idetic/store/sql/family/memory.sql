-- object: schema {schema_name}
-- The owning context of this agent's memory. Other contexts get no grant (ADR-058 D13).
CREATE SCHEMA IF NOT EXISTS {schema};
GRANT USAGE ON SCHEMA {schema} TO idetic_app, idetic_guard, idetic_auditor, idetic_keeper, idetic_worker,
    idetic_mover;

-- object: domain {family}_note
-- A bounded note. The bound is the spec's; canonical content does not fit by accident.
DO $do$ BEGIN
    IF to_regtype({note_text}) IS NULL THEN
        CREATE DOMAIN {note} AS text;
    END IF;
END $do$;
ALTER DOMAIN {note} DROP CONSTRAINT IF EXISTS note_bounded;
ALTER DOMAIN {note} ADD CONSTRAINT note_bounded CHECK (char_length(VALUE) <= {body_text_max});

-- object: table {family}_memory
-- One row per entry; joint tier + typology discriminators (D3). No wide text: the body is a
-- bounded note and the envelope is bounded, so canonical content does not fit by accident.
-- The anchor leads every key: one distribution column, and no tenant can probe another's ids.
CREATE TABLE {memory} (
    {anchor_defs},
    memory_id uuid NOT NULL,
    {root_def}
    tier idetic.tier NOT NULL,
    typology idetic.typology NOT NULL,
    session_id uuid,
    interaction_id uuid,
    body_text {note} NOT NULL,
    envelope idetic.envelope NOT NULL,
    -- The envelope's claim again, as columns: under RLS only leakproof operators reach an index,
    -- and text equality is one while jsonb access is not.
    claim_subject text,
    claim_attribute text,
    claim_value text,
    -- What the lexical signal scores, and how much an entry states (questions do not count).
    lexemes tsvector NOT NULL,
    substance smallint,
    origin idetic.origin NOT NULL,
    trust idetic.trust NOT NULL,
    valid_at timestamptz NOT NULL,
    invalid_at timestamptz,
    archived_at timestamptz,
    superseded_at timestamptz,
    superseded_by uuid,
    invalidated_at timestamptz,
    deleted_at timestamptz,
    exempt_at timestamptz,
    -- A claim that waits for corroboration: kept and shown, but not recalled.
    candidate boolean NOT NULL DEFAULT false,
    -- Since when it is known to hold across versions of the canonical model (meta-semantic).
    meta_at timestamptz,
    embedding_id uuid,
    spec_version integer NOT NULL,
    content_hash bytea NOT NULL,
    digest_salt bytea,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    CONSTRAINT {c_memory_pkey} PRIMARY KEY ({anchor}, memory_id),
    CONSTRAINT {c_memory_superseded_by} FOREIGN KEY ({anchor}, superseded_by)
        REFERENCES {memory} ({anchor}, memory_id) ON DELETE RESTRICT,
    CONSTRAINT {c_memory_consistent} CHECK (
        (interaction_id IS NOT NULL) = (tier = 'interaction')
        AND (session_id IS NOT NULL OR tier = 'persistent')
        AND (superseded_at IS NULL) = (superseded_by IS NULL))
);

-- object: index {family}_memory_current
-- The current view of an anchor, newest first: what `list` and every recall start from.
CREATE INDEX {i_current} ON {memory} ({anchor}, tier, typology, memory_id)
    WHERE archived_at IS NULL AND superseded_at IS NULL AND invalidated_at IS NULL
      AND deleted_at IS NULL;

-- object: index {family}_memory_claim
-- Conflict resolution asks for the current entry of a claim key (subject, attribute).
CREATE INDEX {i_claim} ON {memory} ({anchor}, claim_subject, claim_attribute)
    WHERE claim_subject IS NOT NULL AND superseded_at IS NULL;

-- object: index {family}_memory_superseded
-- What an entry replaced. Without it, every removal of a row would read the whole anchor to see
-- that nothing points at it.
CREATE INDEX {i_superseded} ON {memory} ({anchor}, superseded_by) WHERE superseded_by IS NOT NULL;

-- object: index {family}_memory_transient
-- What a scope holds: asked when it closes, and when a session is looked for that nobody closed.
CREATE INDEX {i_transient} ON {memory} ({anchor}, session_id, interaction_id)
    WHERE tier <> 'persistent';

-- object: function {family}_protect_v1
-- Persistent rows and rows an action rests on are never deleted; other transient rows only by
-- the scope-close code, which says so with a setting local to its transaction.
CREATE OR REPLACE FUNCTION {protect}() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.tier = 'persistent' THEN
        RAISE EXCEPTION 'idetic.append_only: persistent memory is never deleted'
            USING ERRCODE = 'ID001';
    END IF;
    IF EXISTS (SELECT FROM {actions} a WHERE {anchor_is_old_a} AND a.memory_id = OLD.memory_id) THEN
        RAISE EXCEPTION 'idetic.append_only: an action rests on this entry' USING ERRCODE = 'ID001';
    END IF;
    IF coalesce(current_setting('idetic.closing', true), '') <> OLD.session_id::text THEN
        RAISE EXCEPTION 'idetic.append_only: only the close of its scope removes an entry'
            USING ERRCODE = 'ID001';
    END IF;
    RETURN OLD;
END
$$;

-- object: trigger {family}_memory.protect
CREATE OR REPLACE TRIGGER protect BEFORE DELETE ON {memory}
    FOR EACH ROW EXECUTE FUNCTION {protect}();
CREATE OR REPLACE TRIGGER protect_truncate BEFORE TRUNCATE ON {memory}
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();

-- object: function {family}_immutable_v1
-- What an entry says is written once. Only erasure may strip it, and says so in the ledger.
CREATE OR REPLACE FUNCTION {immutable}() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(current_setting('idetic.erasing', true), '') <> OLD.memory_id::text THEN
        RAISE EXCEPTION 'idetic.append_only: an entry''s content is written once'
            USING ERRCODE = 'ID001';
    END IF;
    RETURN NEW;
END
$$;

-- object: table {family}_memory_actions
-- Which action rested on which entries. While a row stands here its entry cannot go (D10).
CREATE TABLE {actions} (
    {anchor_defs},
    action_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    action_kind text NOT NULL,
    linked_at timestamptz NOT NULL,
    linked_by text NOT NULL,
    CONSTRAINT {c_actions_pkey} PRIMARY KEY ({anchor}, action_id, memory_id),
    CONSTRAINT {c_actions_memory} FOREIGN KEY ({anchor}, memory_id)
        REFERENCES {memory} ({anchor}, memory_id) ON DELETE RESTRICT
);

-- object: index {family}_memory_actions_memory
CREATE INDEX {i_actions_memory} ON {actions} ({anchor}, memory_id);

-- object: table {family}_memory_embeddings
-- The retrievable table (D11): insert-only, one row per (entry, profile). Vectors live apart
-- because updating a row that carries one re-inserts it into HNSW.
CREATE TABLE {embeddings} (
    {anchor_defs},
    embedding_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    profile_id uuid NOT NULL,
    tier idetic.tier NOT NULL,
    typology idetic.typology NOT NULL,
    -- Half precision: the pinned model's own output is fp16, and a scan reads half the pages.
    embedding {vector}(384) NOT NULL,
    embedded_at timestamptz NOT NULL,
    CONSTRAINT {c_embeddings_pkey} PRIMARY KEY ({anchor}, embedding_id),
    CONSTRAINT {c_embeddings_profile} UNIQUE ({anchor}, memory_id, profile_id),
    CONSTRAINT {c_embeddings_memory} FOREIGN KEY ({anchor}, memory_id)
        REFERENCES {memory} ({anchor}, memory_id) ON DELETE RESTRICT
);

-- object: table {family}_memory_scopes
-- Sessions and interactions: what the transient tiers inherit their lifecycle from.
CREATE TABLE {scopes} (
    {anchor_defs},
    scope_id uuid NOT NULL,
    tier idetic.tier NOT NULL,
    session_id uuid NOT NULL,
    opened_at timestamptz NOT NULL,
    opened_by text NOT NULL,
    -- When its holder last said that it is still alive; writing and reading say so too.
    renewed_at timestamptz,
    closed_at timestamptz,
    CONSTRAINT {c_scopes_pkey} PRIMARY KEY ({anchor}, scope_id),
    CONSTRAINT {c_scopes_session} FOREIGN KEY ({anchor}, session_id)
        REFERENCES {scopes} ({anchor}, scope_id) ON DELETE RESTRICT,
    CONSTRAINT {c_scopes_tier} CHECK (
        CASE tier WHEN 'session' THEN session_id = scope_id
                  WHEN 'interaction' THEN session_id <> scope_id ELSE false END)
);

-- object: index {family}_memory_scopes_open
-- The scopes that may have lost their process: few, however many are closed.
CREATE INDEX {i_scopes_open} ON {scopes} ({anchor}, opened_at) WHERE closed_at IS NULL;

-- object: table {family}_memory_lineage
-- What an entry was made of. No foreign key to the source: that may have gone with its scope, and
-- its place, origin and trust are kept here for the day somebody asks.
CREATE TABLE {lineage} (
    {anchor_defs},
    memory_id uuid NOT NULL,
    source_id uuid NOT NULL,
    relation idetic.relation NOT NULL,
    session_id uuid,
    interaction_id uuid,
    origin idetic.origin NOT NULL,
    trust idetic.trust NOT NULL,
    observed_at timestamptz NOT NULL,
    CONSTRAINT {c_lineage_pkey} PRIMARY KEY ({anchor}, memory_id, source_id),
    CONSTRAINT {c_lineage_memory} FOREIGN KEY ({anchor}, memory_id)
        REFERENCES {memory} ({anchor}, memory_id) ON DELETE RESTRICT
);

-- object: index {family}_memory_lineage_source
-- What was made of an entry: asked by erasure and by a roll-back of a source.
CREATE INDEX {i_lineage_source} ON {lineage} ({anchor}, source_id);

-- object: table {family}_memory_marks
-- How far background work has come in each anchor: the chain's position when it last finished.
CREATE TABLE {marks} (
    {anchor_defs},
    kind text NOT NULL,
    position bigint NOT NULL,
    marked_at timestamptz NOT NULL,
    CONSTRAINT {c_marks_pkey} PRIMARY KEY ({anchor}, kind)
);

-- object: table {family}_memory_profiles
-- Which embedding profile a tenant's recalls use: the latest activation. Append-only; during a
-- rotation the vectors of two profiles stand side by side until the switch.
CREATE TABLE {profiles} (
    {tenant_def},
    activation_id uuid NOT NULL,
    profile_id uuid NOT NULL,
    activated_at timestamptz NOT NULL,
    activated_by text NOT NULL,
    CONSTRAINT {c_profiles_pkey} PRIMARY KEY ({tenant}, activation_id)
);

-- object: table {family}_memory_reads
-- Read receipts: which entries were put before whom, in which session. Echo detection and
-- audit read them.
CREATE TABLE {reads} (
    {anchor_defs},
    read_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    session_id uuid,
    interaction_id uuid,
    read_at timestamptz NOT NULL,
    read_by text NOT NULL,
    CONSTRAINT {c_reads_pkey} PRIMARY KEY ({anchor}, read_id, memory_id)
);

-- object: index {family}_memory_reads_session
CREATE INDEX {i_reads_session} ON {reads} ({anchor}, session_id, memory_id);

-- object: index {family}_memory_reads_memory
CREATE INDEX {i_reads_memory} ON {reads} ({anchor}, memory_id);
