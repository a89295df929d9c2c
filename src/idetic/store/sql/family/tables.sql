-- object: domain {name}_note
-- A bounded note. The bound is the spec's; canonical content does not fit by accident.
DO $do$ BEGIN
    IF to_regtype('{family}_note') IS NULL THEN
        CREATE DOMAIN {family}_note AS text;
    END IF;
END $do$;
ALTER DOMAIN {family}_note DROP CONSTRAINT IF EXISTS note_bounded;
ALTER DOMAIN {family}_note ADD CONSTRAINT note_bounded CHECK (char_length(VALUE) <= {body_text_max});

-- object: table {name}_memory
-- One row per entry; joint tier + typology discriminators (D3). No wide text: the body is a
-- bounded note and the envelope is bounded, so canonical content does not fit by accident.
-- The anchor leads every key, as two columns: the tenant, which distributes the rows and keeps one
-- from probing another's ids, and `anchor_id`, computed from the values of all its keys.
CREATE TABLE {family}_memory (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    -- if root:
    {root_id} uuid NOT NULL,
    -- end
    tier idetic.tier NOT NULL,
    typology idetic.typology NOT NULL,
    session_id uuid,
    interaction_id uuid,
    body_text {family}_note NOT NULL,
    envelope idetic.envelope NOT NULL,
    -- The envelope's claim again, as columns: under RLS only leakproof operators reach an index,
    -- and text equality is one while jsonb access is not.
    claim_subject text,
    claim_attribute text,
    claim_value text,
    -- What the lexical signal scores.
    lexemes tsvector NOT NULL,
    -- What was active when this was written (D5), by name; never a filter.
    provenance jsonb,
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
    -- Since when it is in every prompt: the paged core of memory.
    core_at timestamptz,
    embedding_id uuid,
    -- How often a vector was tried in vain, and what went wrong the last time.
    embed_attempts integer NOT NULL DEFAULT 0,
    embed_error text,
    -- if log:
    -- Of the long-term mirror, the event; of short-term memory, the loop. Others have neither.
    event_id uuid,
    loop_id uuid,
    importance real,
    -- end
    spec_version integer NOT NULL,
    content_hash bytea NOT NULL,
    digest_salt bytea,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    CONSTRAINT {name}_memory_pkey PRIMARY KEY ({tenant}, anchor_id, memory_id),
    -- if root:
    CONSTRAINT {name}_memory_root FOREIGN KEY ({tenant}, {root_id})
        REFERENCES {root} ({tenant}, {root_id}) ON DELETE RESTRICT,
    -- end
    -- if log:
    CONSTRAINT {name}_memory_event FOREIGN KEY ({tenant}, anchor_id, event_id)
        REFERENCES {family}_log ({tenant}, anchor_id, event_id) ON DELETE RESTRICT,
    -- end
    CONSTRAINT {name}_memory_superseded_by FOREIGN KEY ({tenant}, anchor_id, superseded_by)
        REFERENCES {family}_memory ({tenant}, anchor_id, memory_id) ON DELETE RESTRICT,
    CONSTRAINT {name}_memory_consistent CHECK (
        (interaction_id IS NOT NULL) = (tier = 'interaction')
        AND (session_id IS NOT NULL OR tier = 'persistent')
        AND (superseded_at IS NULL) = (superseded_by IS NULL))
);

-- object: index {name}_memory_current
-- The current view of an anchor, newest first: what `list` and every recall start from.
CREATE INDEX {name}_current_idx ON {family}_memory ({tenant}, anchor_id, tier, typology, memory_id)
    WHERE archived_at IS NULL AND superseded_at IS NULL AND invalidated_at IS NULL
      AND deleted_at IS NULL;

-- object: index {name}_memory_core
-- What was paged in: few entries, read for every prompt.
CREATE INDEX {name}_core_idx ON {family}_memory ({tenant}, anchor_id, memory_id)
    WHERE core_at IS NOT NULL;

-- object: index {name}_memory_claim
-- Conflict resolution asks for the current entry of a claim key (subject, attribute). The typology
-- at its end is an order that no other index has: whoever asks for it gets this index, however
-- little the planner knows of a table that nobody has analysed yet.
CREATE INDEX {name}_claim_idx ON {family}_memory
    ({tenant}, anchor_id, claim_subject, claim_attribute, typology)
    WHERE claim_subject IS NOT NULL AND superseded_at IS NULL;

-- if log:
-- object: index {name}_memory_event
-- Exactly one entry per event. One that was derived in another way is archived first.
CREATE UNIQUE INDEX {name}_event_idx ON {family}_memory ({tenant}, anchor_id, event_id)
    WHERE event_id IS NOT NULL AND archived_at IS NULL;

-- object: index {name}_memory_loop
-- Exactly one entry per loop, unless it was erased: then it is made anew from what is left.
CREATE UNIQUE INDEX {name}_loop_idx ON {family}_memory ({tenant}, anchor_id, loop_id)
    WHERE loop_id IS NOT NULL AND archived_at IS NULL AND deleted_at IS NULL;

-- object: index {name}_memory_window
-- The rolling window: the last loops, newest first.
CREATE INDEX {name}_window_idx ON {family}_memory ({tenant}, anchor_id, valid_at, loop_id)
    WHERE loop_id IS NOT NULL AND archived_at IS NULL AND deleted_at IS NULL;
-- end

-- object: index {name}_memory_superseded
-- What an entry replaced. Without it, every removal of a row would read the whole anchor to see
-- that nothing points at it.
CREATE INDEX {name}_superseded_idx ON {family}_memory ({tenant}, anchor_id, superseded_by)
    WHERE superseded_by IS NOT NULL;

-- object: index {name}_memory_transient
-- What a scope holds: asked when it closes, and when a session is looked for that nobody closed.
CREATE INDEX {name}_transient_idx ON {family}_memory ({tenant}, anchor_id, session_id, interaction_id)
    WHERE tier <> 'persistent';

-- object: table {name}_memory_actions
-- Which action rested on which entries. While a row stands here its entry cannot go (D10).
CREATE TABLE {family}_memory_actions (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    action_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    action_kind text NOT NULL,
    linked_at timestamptz NOT NULL,
    linked_by text NOT NULL,
    CONSTRAINT {name}_actions_pkey PRIMARY KEY ({tenant}, anchor_id, action_id, memory_id),
    CONSTRAINT {name}_actions_memory FOREIGN KEY ({tenant}, anchor_id, memory_id)
        REFERENCES {family}_memory ({tenant}, anchor_id, memory_id) ON DELETE RESTRICT
);

-- object: index {name}_memory_actions_memory
CREATE INDEX {name}_actions_memory_idx ON {family}_memory_actions ({tenant}, anchor_id, memory_id);

-- object: table {name}_memory_embeddings
-- The retrievable table (D11): insert-only, one row per (entry, profile) and piece: a text longer
-- than the model reads has a vector for each of its overlapping pieces. Vectors live apart
-- because updating a row that carries one re-inserts it into HNSW.
CREATE TABLE {family}_memory_embeddings (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    embedding_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    profile_id uuid NOT NULL,
    tier idetic.tier NOT NULL,
    typology idetic.typology NOT NULL,
    -- Half precision: the pinned model's own output is fp16, and a scan reads half the pages.
    embedding {vector}.halfvec(384) NOT NULL,
    embedded_at timestamptz NOT NULL,
    piece smallint NOT NULL DEFAULT 0,
    CONSTRAINT {name}_embeddings_pkey PRIMARY KEY ({tenant}, anchor_id, embedding_id),
    CONSTRAINT {name}_embeddings_profile UNIQUE ({tenant}, anchor_id, memory_id, profile_id, piece),
    CONSTRAINT {name}_embeddings_memory FOREIGN KEY ({tenant}, anchor_id, memory_id)
        REFERENCES {family}_memory ({tenant}, anchor_id, memory_id) ON DELETE RESTRICT
);

-- object: table {name}_memory_scopes
-- Sessions and interactions: what the transient tiers inherit their lifecycle from.
CREATE TABLE {family}_memory_scopes (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    scope_id uuid NOT NULL,
    tier idetic.tier NOT NULL,
    session_id uuid NOT NULL,
    opened_at timestamptz NOT NULL,
    opened_by text NOT NULL,
    -- When its holder last said that it is still alive; writing and reading say so too.
    renewed_at timestamptz,
    closed_at timestamptz,
    CONSTRAINT {name}_scopes_pkey PRIMARY KEY ({tenant}, anchor_id, scope_id),
    CONSTRAINT {name}_scopes_session FOREIGN KEY ({tenant}, anchor_id, session_id)
        REFERENCES {family}_memory_scopes ({tenant}, anchor_id, scope_id) ON DELETE RESTRICT,
    CONSTRAINT {name}_scopes_tier CHECK (
        CASE tier WHEN 'session' THEN session_id = scope_id
                  WHEN 'interaction' THEN session_id <> scope_id ELSE false END)
);

-- object: index {name}_memory_scopes_open
-- The scopes that may have lost their process: few, however many are closed.
CREATE INDEX {name}_scopes_open_idx ON {family}_memory_scopes ({tenant}, anchor_id, opened_at)
    WHERE closed_at IS NULL;

-- object: table {name}_memory_lineage
-- What an entry was made of. No foreign key to the source: that may have gone with its scope, and
-- its place, origin and trust are kept here for the day somebody asks.
CREATE TABLE {family}_memory_lineage (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    source_id uuid NOT NULL,
    relation idetic.relation NOT NULL,
    session_id uuid,
    interaction_id uuid,
    provenance jsonb,
    origin idetic.origin NOT NULL,
    trust idetic.trust NOT NULL,
    observed_at timestamptz NOT NULL,
    CONSTRAINT {name}_lineage_pkey PRIMARY KEY ({tenant}, anchor_id, memory_id, source_id),
    CONSTRAINT {name}_lineage_memory FOREIGN KEY ({tenant}, anchor_id, memory_id)
        REFERENCES {family}_memory ({tenant}, anchor_id, memory_id) ON DELETE RESTRICT
);

-- object: index {name}_memory_lineage_source
-- What was made of an entry: asked by erasure and by a roll-back of a source.
CREATE INDEX {name}_lineage_source_idx ON {family}_memory_lineage ({tenant}, anchor_id, source_id);

-- object: table {name}_memory_marks
-- How far background work has come in each anchor: the chain's position when it last finished.
CREATE TABLE {family}_memory_marks (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    kind text NOT NULL,
    position bigint NOT NULL,
    marked_at timestamptz NOT NULL,
    CONSTRAINT {name}_marks_pkey PRIMARY KEY ({tenant}, anchor_id, kind)
);

-- object: table {name}_memory_profiles
-- Which embedding profile a tenant's recalls use: the latest activation. Append-only; during a
-- rotation the vectors of two profiles stand side by side until the switch.
CREATE TABLE {family}_memory_profiles (
    {tenant} {tenant_type} NOT NULL,
    activation_id uuid NOT NULL,
    profile_id uuid NOT NULL,
    activated_at timestamptz NOT NULL,
    activated_by text NOT NULL,
    CONSTRAINT {name}_profiles_pkey PRIMARY KEY ({tenant}, activation_id)
);

-- object: table {name}_memory_reads
-- Read receipts: which entries were put before whom, in which session. Echo detection and
-- audit read them.
CREATE TABLE {family}_memory_reads (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    read_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    session_id uuid,
    interaction_id uuid,
    read_at timestamptz NOT NULL,
    read_by text NOT NULL,
    -- The position of the link that tells how many reads there were, and their digest. Reading takes
    -- no lock on the anchor, so it is given later: with an action, or at the close of a session.
    witness bigint,
    CONSTRAINT {name}_reads_pkey PRIMARY KEY ({tenant}, anchor_id, read_id, memory_id)
);

-- object: index {name}_memory_reads_session
CREATE INDEX {name}_reads_session_idx ON {family}_memory_reads
    ({tenant}, anchor_id, session_id, memory_id) WHERE session_id IS NOT NULL;

-- object: index {name}_memory_reads_beside
-- What somebody read at no session: it counts as shown to each session that they have open.
CREATE INDEX {name}_reads_beside_idx ON {family}_memory_reads
    ({tenant}, anchor_id, read_by, read_at) WHERE session_id IS NULL;

-- object: index {name}_memory_reads_unwitnessed
-- The reads that no link tells of yet: few, however many there are.
CREATE INDEX {name}_reads_unwitnessed_idx ON {family}_memory_reads ({tenant}, anchor_id, read_id)
    WHERE witness IS NULL;

-- object: index {name}_memory_reads_memory
CREATE INDEX {name}_reads_memory_idx ON {family}_memory_reads ({tenant}, anchor_id, memory_id);

-- object: table {name}_memory_ledger
-- Append-only history of every transition, hash-chained per anchor. A write's receipt is a
-- reading of its row here: nothing that was acknowledged can be missing from the history.
CREATE TABLE {family}_memory_ledger (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    position bigint NOT NULL,
    receipt_id uuid NOT NULL,
    at timestamptz NOT NULL,
    transition text NOT NULL,
    decision idetic.decision NOT NULL,
    memory_id uuid,
    actor_kind idetic.principal NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    state_from text,
    state_to text,
    detail jsonb NOT NULL,
    prev_hash bytea NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT {name}_ledger_pkey PRIMARY KEY ({tenant}, anchor_id, position)
);

-- object: index {name}_memory_ledger_entry
-- One entry's history, and the state of every entry as of a moment.
CREATE INDEX {name}_ledger_entry_idx ON {family}_memory_ledger
    ({tenant}, anchor_id, memory_id, position);

-- object: index {name}_memory_ledger_refused
-- What was refused lately: asked before every write, to see over which canonical rows a scope has
-- spent its retries. Nearly always empty.
CREATE INDEX {name}_ledger_refused_idx ON {family}_memory_ledger ({tenant}, anchor_id, at)
    WHERE transition = 'refused';

-- object: index {name}_memory_ledger_quarantined
-- The quarantines of an anchor: what an operator's list begins with. As good as empty.
CREATE INDEX {name}_ledger_quarantined_idx ON {family}_memory_ledger ({tenant}, anchor_id, position)
    WHERE transition = 'quarantined';

-- object: index {name}_memory_ledger_changed
-- The changes of canonical texts that an entry saw: asked of every entry that may wait for somebody.
CREATE INDEX {name}_ledger_changed_idx ON {family}_memory_ledger
    ({tenant}, anchor_id, memory_id, position) WHERE transition = 'canonical_changed';

-- object: index {name}_memory_ledger_imported
-- The imports of an anchor: every history that is told asks for them. As good as empty.
CREATE INDEX {name}_ledger_imported_idx ON {family}_memory_ledger ({tenant}, anchor_id, position)
    WHERE transition = 'anchor_imported';

-- object: table {name}_memory_anchors
-- The anchors that have memory: the named keys with their types, which stand nowhere else; the root
-- that an anchor belongs to; and the end of its chain, found by primary key (the ledger's own last
-- row is not: under RLS the planner misjudges it and sorts the whole chain).
CREATE TABLE {family}_memory_anchors (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    -- for each key:
    {key} {key_type} NOT NULL,
    -- end
    -- if root:
    {root_id} uuid NOT NULL,
    -- end
    position bigint NOT NULL,
    hash bytea NOT NULL,
    at timestamptz NOT NULL,
    -- if log:
    log_position bigint NOT NULL DEFAULT 0,
    log_hash bytea,
    -- end
    -- if root:
    CONSTRAINT {name}_anchors_root FOREIGN KEY ({keys}, {root_id})
        REFERENCES {root} ({keys}, {root_id}) ON DELETE RESTRICT,
    -- end
    CONSTRAINT {name}_anchors_keys UNIQUE ({keys}),
    CONSTRAINT {name}_anchors_pkey PRIMARY KEY ({tenant}, anchor_id)
) WITH (fillfactor = 50);

-- object: table {name}_memory_receipts
-- Idempotency keys. The receipt itself is the ledger row at `position`; this says which.
-- In the family, not in the core schema: it is written with the entry, on the same shard.
CREATE TABLE {family}_memory_receipts (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    idempotency_key text NOT NULL,
    request_digest bytea NOT NULL,
    position bigint NOT NULL,
    -- What makes the hash that the link carries of this row one that nobody can guess from.
    salt bytea,
    CONSTRAINT {name}_receipts_pkey PRIMARY KEY ({tenant}, anchor_id, idempotency_key),
    CONSTRAINT {name}_receipts_ledger FOREIGN KEY ({tenant}, anchor_id, position)
        REFERENCES {family}_memory_ledger ({tenant}, anchor_id, position) ON DELETE RESTRICT
);

-- object: index {name}_memory_tombstones
-- The tombstones that still have their payload: few, however many entries and shells there are.
CREATE INDEX {name}_tombstones_idx ON {family}_memory ({tenant}, anchor_id, typology, deleted_at)
    WHERE deleted_at IS NOT NULL AND digest_salt IS NOT NULL;

-- object: index {name}_memory_alike
-- Persistent notes by their trigrams, for the look-up below. Transient ones are not in it: they
-- are many, short-lived, and compared in memory when their scope closes. Nor are those that were
-- replaced: to put a row into it once more took longer than to write its successor. Nor procedural
-- ones, documents among them: they have claims, and are compared by those.
CREATE INDEX {name}_alike_idx ON {family}_memory
    USING gist ({tenant}, anchor_id, body_text {trgm}.gist_trgm_ops (siglen = 256))
    WHERE tier = 'persistent' AND typology <> 'procedural' AND superseded_at IS NULL;

-- object: index {name}_memory_words
-- Persistent notes by the key of their words: what says the same is found by equality.
CREATE INDEX {name}_words_idx ON {family}_memory ({tenant}, anchor_id, idetic.words_key_v1(body_text))
    WHERE tier = 'persistent' AND superseded_at IS NULL;

-- if corroborations:
-- object: table {name}_memory_corroborations
-- What supports an entry, with its source and not only its time (D9). The unique key means a
-- replay cannot inflate a count.
CREATE TABLE {family}_memory_corroborations (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    corroboration_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    source_type idetic.source_type NOT NULL,
    source_ref uuid NOT NULL,
    provenance jsonb,
    corroborated_at timestamptz NOT NULL,
    corroborated_by text NOT NULL,
    -- Who spoke, and where: independence is counted over these, never over what a caller says.
    source_by text NOT NULL,
    session_id uuid,
    origin idetic.origin NOT NULL,
    -- An undone corroboration stays, and no longer counts.
    withdrawn_at timestamptz,
    notes idetic.source_notes,
    notes_salt bytea,
    CONSTRAINT {name}_corroborations_pkey PRIMARY KEY ({tenant}, anchor_id, corroboration_id),
    CONSTRAINT {name}_corroborations_source UNIQUE
        ({tenant}, anchor_id, memory_id, source_type, source_ref, source_by),
    CONSTRAINT {name}_corroborations_memory FOREIGN KEY ({tenant}, anchor_id, memory_id)
        REFERENCES {family}_memory ({tenant}, anchor_id, memory_id) ON DELETE RESTRICT
);
-- end

-- if proposals:
-- object: table {name}_memory_proposals
-- What left the anchor for another context: a rule candidate or a revision signal, and what its
-- receiver decided. `memory_id` is the entry whose words the statement is, without whose they are;
-- all entries behind it are linked by an action with the proposal's id.
CREATE TABLE {family}_memory_proposals (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    proposal_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    proposal_kind idetic.proposal_kind NOT NULL,
    -- The contradiction that a revision signal is about.
    about_id uuid,
    statement {family}_note,
    support jsonb NOT NULL,
    proposed_at timestamptz NOT NULL,
    proposed_by text NOT NULL,
    proposal_status idetic.proposal_status NOT NULL DEFAULT 'open',
    decision_reason idetic.resolution_notes,
    decided_at timestamptz,
    decided_by text,
    -- The salts of the hashes that links carry of the two texts: emptied with them.
    statement_salt bytea,
    reason_salt bytea,
    CONSTRAINT {name}_proposals_pkey PRIMARY KEY ({tenant}, anchor_id, proposal_id),
    CONSTRAINT {name}_proposals_memory FOREIGN KEY ({tenant}, anchor_id, memory_id)
        REFERENCES {family}_memory ({tenant}, anchor_id, memory_id) ON DELETE RESTRICT
);

-- object: index {name}_memory_proposals_memory
CREATE INDEX {name}_proposals_memory_idx ON {family}_memory_proposals ({tenant}, anchor_id, memory_id);

-- object: index {name}_memory_ledger_outbox
-- The outbox: the links that another context is told of, and how far it has acknowledged them.
CREATE INDEX {name}_ledger_outbox_idx ON {family}_memory_ledger ({tenant}, anchor_id, position)
    WHERE transition IN ('rule_proposed', 'revision_signalled', 'proposal_withdrawn', 'delivered');
-- end

-- for each cell:
-- object: index {name}_hnsw_{cell}
-- One shared partial HNSW per (tier, typology), never per tenant: lock tables run out near
-- 2,000 tenants (D3, measured in DESIGN).
CREATE INDEX {name}_hnsw_{cell} ON {family}_memory_embeddings
    USING hnsw (embedding {vector}.halfvec_ip_ops)
    WHERE tier = '{tier}' AND typology = '{typology}';
-- end
