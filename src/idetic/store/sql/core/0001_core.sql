-- The core: vocabularies, the registry of specs and compiled objects, and the three server
-- functions every agent's family shares. Nothing here knows any agent.

-- The enums are the documents' words. They live here so that every family speaks one language.
CREATE TYPE idetic.tier AS ENUM ('interaction', 'session', 'persistent');
CREATE TYPE idetic.typology AS ENUM ('episodic', 'semantic', 'procedural');
CREATE TYPE idetic.origin AS ENUM ('operator', 'canonical', 'agent', 'tool', 'user', 'external');
CREATE TYPE idetic.principal AS ENUM ('agent', 'operator', 'customer', 'auditor', 'maintenance');
CREATE TYPE idetic.decision AS ENUM ('ADD', 'UPDATE', 'DELETE', 'NOOP', 'REJECT');
CREATE TYPE idetic.source_type AS ENUM (
    'observation_event', 'rule_change', 'cross_version_carry', 'operator_input', 'agent_inference'
);
CREATE TYPE idetic.contradiction_status AS ENUM (
    'open', 'dismissed', 'surfaced_to_operator', 'promoted_to_revision_signal'
);
CREATE TYPE idetic.proposal_kind AS ENUM ('rule_candidate', 'revision_signal', 'sameness');
CREATE TYPE idetic.proposal_status AS ENUM ('open', 'accepted', 'declined', 'withdrawn');
CREATE TYPE idetic.relation AS ENUM ('compounded', 'promoted', 'merged', 'recurred', 'summarised');
CREATE TYPE idetic.source_strength AS ENUM ('authoritative', 'curated', 'distilled', 'observed');
CREATE TYPE idetic.disposal AS ENUM ('HARD_DELETE', 'STRIP_PAYLOAD', 'RETAIN_METADATA');
CREATE TYPE idetic.event_kind AS ENUM (
    'user_input', 'actor_output', 'tool_call', 'tool_result', 'subconscious_prompt',
    'subconscious_output', 'system_event', 'error', 'feedback'
);
CREATE TYPE idetic.event_visibility AS ENUM ('external', 'internal');

-- Bounds that are the same for every family. Domains and not CHECKs: a CHECK is parsed anew by
-- every INSERT statement (7 us each here), a domain's constraint once per connection.
CREATE DOMAIN idetic.trust AS smallint CONSTRAINT trust_bounded CHECK (VALUE BETWEEN 0 AND 100);
-- And what a CHECK of a table refuses stands in the server's log with the whole row.
CREATE DOMAIN idetic.source_notes AS text CONSTRAINT source_notes_bounded
    CHECK (char_length(VALUE) <= 500);
CREATE DOMAIN idetic.resolution_notes AS text CONSTRAINT resolution_notes_bounded
    CHECK (char_length(VALUE) <= 2000);
CREATE DOMAIN idetic.envelope AS jsonb CONSTRAINT envelope_bounded
    CHECK (jsonb_typeof(VALUE) = 'object' AND pg_column_size(VALUE) <= 32768);

-- A log holds tool results; an operational note is as long as any other.
CREATE DOMAIN idetic.event_content AS text CONSTRAINT event_content_bounded
    CHECK (char_length(VALUE) <= 1000000);
CREATE DOMAIN idetic.event_metadata AS jsonb CONSTRAINT event_metadata_bounded
    CHECK (jsonb_typeof(VALUE) = 'object' AND pg_column_size(VALUE) <= 65536);
CREATE DOMAIN idetic.operational_note AS text CONSTRAINT operational_note_bounded
    CHECK (char_length(VALUE) <= 2000);

-- What the writing functions are handed: entries to admit, and steps to settle. A field that is not
-- said is NULL.
CREATE TYPE idetic.item AS (
    receipt uuid, memory uuid, transition text, tier idetic.tier, typology idetic.typology,
    body text, substance smallint, envelope jsonb, claim jsonb, provenance jsonb,
    origin idetic.origin, trust smallint, valid_at timestamptz, invalid_at timestamptz, salt text,
    hash text, detail jsonb, candidate boolean, supersede boolean, key text, digest text,
    refs jsonb, echo jsonb, form text, sampling jsonb
);
CREATE TYPE idetic.step AS (
    op text, receipt uuid, memory uuid, transition text, decision idetic.decision, reason text,
    state_from text, state_to text, detail jsonb, ids uuid[], turned jsonb,
    tier idetic.tier, typology idetic.typology, session uuid, interaction uuid, body text,
    substance smallint, envelope jsonb, claim jsonb, provenance jsonb, origin idetic.origin,
    trust smallint, valid_at timestamptz, invalid_at timestamptz, candidate boolean, salt text,
    hash text, refs jsonb, copy_of uuid, embedding uuid, lineage jsonb, row_id uuid, noun text,
    seen_at timestamptz, source_type idetic.source_type, source_ref uuid, source_by text, notes text,
    status idetic.contradiction_status, event uuid, loop_id uuid, importance real,
    proposal idetic.proposal_kind, outcome idetic.proposal_status, support jsonb
);

-- Every version of every spec, append-only: an entry names the version it was written under.
CREATE TABLE idetic.spec_versions (
    agent text NOT NULL,
    version integer NOT NULL,
    digest text NOT NULL,
    spec jsonb NOT NULL,
    applied_at timestamptz NOT NULL,
    applied_by text NOT NULL,
    CONSTRAINT spec_versions_pkey PRIMARY KEY (agent, version)
);

-- How long each entity of a family is kept under a version of its spec, append-only: what held when
-- an entry was disposed of can be read years later. The check is the spec's own, once more.
CREATE TABLE idetic.retention_policies (
    agent text NOT NULL,
    version integer NOT NULL,
    entity text NOT NULL,
    active_ttl_days integer,
    tombstone_grace_days integer NOT NULL,
    disposal idetic.disposal NOT NULL,
    -- How time presses on memory, and within how many days: of persistent memory alone (D12).
    decay text,
    decay_days double precision,
    domain_owner text NOT NULL,
    registered_at timestamptz NOT NULL,
    CONSTRAINT retention_policies_pkey PRIMARY KEY (agent, version, entity),
    CONSTRAINT retention_policies_days CHECK (active_ttl_days > 0 AND tombstone_grace_days >= 0),
    CONSTRAINT retention_policies_kept CHECK (disposal <> 'HARD_DELETE'
        OR NOT (entity LIKE 'persistent\_%' OR entity IN ('actions', 'ledger', 'log')))
);

-- What the compiler made, by agent: `spec plan` compares a spec with this. A row is replaced
-- when its object is; the objects' history is in spec_versions.
CREATE TABLE idetic.compiled_objects (
    agent text NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    digest text NOT NULL,
    version integer NOT NULL,
    CONSTRAINT compiled_objects_pkey PRIMARY KEY (agent, kind, name)
);

-- Which numbered migrations the family of each agent has, append-only. A family that is made anew has
-- all of its release at once: its tables are compiled from the newest templates.
CREATE TABLE idetic.family_migrations (
    agent text NOT NULL,
    number integer NOT NULL,
    name text NOT NULL,
    digest text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT family_migrations_pkey PRIMARY KEY (agent, number)
);

-- Which model made a vector, append-only. A profile names the model by its files' hashes, so
-- that vectors of two models never mix.
CREATE TABLE idetic.embedding_profiles (
    profile_id uuid NOT NULL,
    name text NOT NULL,
    dimensions integer NOT NULL,
    fingerprint text NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT embedding_profiles_pkey PRIMARY KEY (profile_id),
    CONSTRAINT embedding_profiles_once UNIQUE (name, fingerprint)
);

-- UPDATE, DELETE and TRUNCATE on an append-only table are refused for every role, the owner
-- included: row triggers do not fire on TRUNCATE, so the families install both kinds.
CREATE FUNCTION idetic.refuse_change_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'idetic.append_only: % on %.% is refused', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'ID001';
END
$$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON idetic.spec_versions
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON idetic.spec_versions
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON idetic.retention_policies
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON idetic.retention_policies
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON idetic.family_migrations
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON idetic.family_migrations
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON idetic.embedding_profiles
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON idetic.embedding_profiles
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();

-- What a link of a ledger's chain says. A JSON array is unambiguous where concatenation is not,
-- and anyone can recompute it from an export. Bodies never enter: only their salted hash does.
-- STABLE although it is a pure function: jsonb_build_array is STABLE, and a body less stable
-- than its declaration is never inlined.
CREATE FUNCTION idetic.link_content_v1(
    pos bigint, receipt uuid, at timestamptz, transition text, decision idetic.decision,
    entry uuid, actor_kind idetic.principal, actor text, reason text,
    state_from text, state_to text, detail jsonb
) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT convert_to(jsonb_build_array(
        pos, receipt, (extract(epoch FROM at) * 1000000)::bigint, transition, decision,
        entry, actor_kind, actor, reason, state_from, state_to, detail)::text, 'UTF8')
$$;

-- What a link says of an idempotency key that stands for it: a hash of the key and of the request,
-- with a salt that goes when either is erased. Nothing for a call without a key.
CREATE FUNCTION idetic.key_witness_v1(salt uuid, key text, digest bytea) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN key IS NULL THEN '{}' ELSE jsonb_build_object('key_hash',
        encode(sha256(uuid_send(salt) || convert_to(key, 'UTF8') || digest), 'hex')) END
$$;

-- One read as the link that tells of it hashes it.
CREATE FUNCTION idetic.read_content_v1(
    read_id uuid, entry uuid, session_id uuid, interaction_id uuid, at timestamptz, reader text
) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT jsonb_build_array(read_id, entry, session_id, interaction_id,
        (extract(epoch FROM at) * 1000000)::bigint, reader)::text || chr(10)
$$;

-- The same for a link of a log's chain: the content enters by its salted hash, as in every ledger,
-- so that whoever empties an event later leaves a chain that still verifies.
CREATE FUNCTION idetic.event_link_v1(
    pos bigint, event uuid, at timestamptz, loop_id uuid, kind idetic.event_kind,
    visibility idetic.event_visibility, content_hash bytea
) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT convert_to(jsonb_build_array(
        pos, event, (extract(epoch FROM at) * 1000000)::bigint, loop_id, kind, visibility,
        encode(content_hash, 'hex'))::text, 'UTF8')
$$;

-- A running hash: each link's over the one before it, the first over `start`.
CREATE FUNCTION idetic.chain_step_v1(state bytea, start bytea, content bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN sha256(coalesce(state, start) || content);
END
$$;
CREATE AGGREGATE idetic.chain_v1(start bytea, content bytea) (
    SFUNC = idetic.chain_step_v1, STYPE = bytea
);

-- The hash a chain starts from: the family and the anchor, so that a chain cannot be moved.
CREATE FUNCTION idetic.genesis_hash_v1(family text, anchor jsonb) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT sha256(convert_to(jsonb_build_array(family, anchor)::text, 'UTF8'))
$$;

-- The narrow key of an anchor, from the texts of its keys in order; `store/scope.py` computes the
-- same. A UUID of version 8: its application made it.
CREATE FUNCTION idetic.anchor_id_v1(p_keys text[]) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    digest bytea := substr(sha256(convert_to(array_to_string(p_keys, chr(31)), 'UTF8')), 1, 16);
BEGIN
    IF array_position(p_keys, NULL) IS NOT NULL THEN
        RETURN NULL;
    END IF;
    digest := set_byte(digest, 6, get_byte(digest, 6) & 15 | 128);
    digest := set_byte(digest, 8, get_byte(digest, 8) & 63 | 128);
    RETURN encode(digest, 'hex')::uuid;
END
$$;

-- Whether the scope of this transaction binds a tenant, and an anchor. What runs with a definer's
-- rights asks: it is exempt from the policies that would.
CREATE FUNCTION idetic.is_bound_v1(p_tenant text) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(p_tenant = nullif(nullif(
        split_part(current_setting('idetic.scope', true), chr(31), 2), ''), '*'), false)
$$;
CREATE FUNCTION idetic.is_bound_v1(p_tenant text, p_anchor uuid) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(idetic.is_bound_v1(p_tenant)
        AND p_anchor = nullif(current_setting('idetic.anchor', true), '')::uuid, false)
$$;

-- Settings for the rest of a transaction, on Citus. It hands on to its workers what SET LOCAL sets,
-- with the text of the whole message: within a function that is the SET alone.
CREATE FUNCTION idetic.enter_v1(p_names text[], p_settings text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL citus.propagate_set_commands = 'local';
    FOR n IN 1 .. cardinality(p_names) LOOP
        EXECUTE format('SET LOCAL %s = %L', p_names[n], p_settings[n]);
    END LOOP;
END
$$;

-- The key of a text's words: equal for the same words in another order, with other capitals, accents
-- or punctuation. It finds; whether order and accents matter is compared afterwards. A text that is
-- longer than any statement has none. Casing is ASCII's: a database's own locale makes no difference.
CREATE FUNCTION idetic.words_key_v1(said text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN char_length(said) <= 2000 THEN (
        SELECT md5(string_agg(w, ' ' ORDER BY w COLLATE "C")) FROM regexp_split_to_table(
            lower(regexp_replace(normalize(said, NFKD), '[\u0300-\u036f]', '', 'g') COLLATE "C"),
            '[\s!-/:-@\[-`{-~]+') AS w
        WHERE w <> '') END
$$;

-- Who may do what here. The personas' roles and their steward work in families as the application
-- does in those of other agents.
GRANT USAGE ON SCHEMA idetic TO idetic_app, idetic_guard, idetic_curator, idetic_auditor,
    idetic_keeper, idetic_worker, idetic_mover, idetic_actor, idetic_subconscious, idetic_steward;
GRANT SELECT ON idetic.spec_versions, idetic.retention_policies, idetic.compiled_objects,
    idetic.family_migrations TO idetic_app, idetic_auditor, idetic_worker, idetic_steward;
GRANT SELECT ON idetic.embedding_profiles TO idetic_app, idetic_auditor, idetic_worker,
    idetic_mover, idetic_actor, idetic_subconscious, idetic_steward;
GRANT INSERT ON idetic.embedding_profiles TO idetic_app, idetic_actor, idetic_subconscious,
    idetic_steward;
-- PUBLIC may execute nothing of ours; the migrator sees to that.
GRANT EXECUTE ON FUNCTION idetic.link_content_v1, idetic.event_link_v1, idetic.chain_step_v1,
    idetic.chain_v1, idetic.genesis_hash_v1, idetic.anchor_id_v1, idetic.key_witness_v1
    TO idetic_app, idetic_auditor, idetic_actor, idetic_subconscious, idetic_steward;
GRANT EXECUTE ON FUNCTION idetic.words_key_v1 TO idetic_app, idetic_guard, idetic_keeper,
    idetic_mover, idetic_actor, idetic_subconscious, idetic_steward;
GRANT EXECUTE ON FUNCTION idetic.read_content_v1 TO idetic_keeper, idetic_app, idetic_steward;
GRANT EXECUTE ON FUNCTION idetic.is_bound_v1(text), idetic.is_bound_v1(text, uuid)
    TO idetic_app, idetic_guard, idetic_keeper, idetic_mover, idetic_actor, idetic_subconscious,
    idetic_steward;
GRANT EXECUTE ON FUNCTION idetic.enter_v1 TO idetic_app, idetic_auditor, idetic_curator,
    idetic_worker, idetic_actor, idetic_subconscious, idetic_steward;
