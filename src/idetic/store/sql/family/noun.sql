-- for each noun:
-- object: table {name}_memory_{noun}_refs
-- References to canonical rows: a junction with real foreign keys and a version pin, never an
-- array of ids (D6).
CREATE TABLE {family}_memory_{noun}_refs (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    ref_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    {canonical_id} uuid NOT NULL,
    -- if canonical_version:
    {noun}_version integer NOT NULL,
    -- end
    provenance jsonb,
    created_at timestamptz NOT NULL,
    CONSTRAINT {name}_{noun}_refs_pkey PRIMARY KEY ({tenant}, anchor_id, ref_id),
    CONSTRAINT {name}_{noun}_refs_once UNIQUE ({tenant}, anchor_id, memory_id, {canonical_id}),
    CONSTRAINT {name}_{noun}_refs_memory FOREIGN KEY ({tenant}, anchor_id, memory_id)
        REFERENCES {family}_memory ({tenant}, anchor_id, memory_id) ON DELETE RESTRICT,
    -- if canonical_version:
    CONSTRAINT {name}_{noun}_refs_version FOREIGN KEY ({tenant}, {canonical_id}, {noun}_version)
        REFERENCES {canonical_versions} ({tenant}, {canonical_id}, {canonical_version})
        ON DELETE RESTRICT,
    -- end
    CONSTRAINT {name}_{noun}_refs_canonical FOREIGN KEY ({tenant}, {canonical_id})
        REFERENCES {canonical} ({tenant}, {canonical_id}) ON DELETE RESTRICT
);

-- object: index {name}_memory_{noun}_refs_canonical
-- Which entries rest on a canonical row: asked when that row changes.
CREATE INDEX {name}_{noun}_refs_canonical_idx ON {family}_memory_{noun}_refs
    ({tenant}, {canonical_id});

-- if contradictions:
-- object: table {name}_{noun}_contradictions
-- Contradictions are first-class and have a life of their own (D7).
CREATE TABLE {family}_{noun}_contradictions (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    contradiction_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    {canonical_id} uuid NOT NULL,
    observed_at timestamptz NOT NULL,
    observed_by text NOT NULL,
    provenance jsonb,
    status idetic.contradiction_status NOT NULL DEFAULT 'open',
    resolution_notes idetic.resolution_notes,
    resolved_at timestamptz,
    resolved_by text,
    -- What stood before the last move, so that it can be taken back to the letter. Here and not in
    -- the ledger: notes are free text, and an erasure must be able to reach them.
    previous_status idetic.contradiction_status,
    previous_notes idetic.resolution_notes,
    previous_at timestamptz,
    previous_by text,
    -- The salts of the hashes that links carry of the notes: emptied with them.
    notes_salt bytea,
    previous_salt bytea,
    CONSTRAINT {name}_{noun}_contradictions_pkey PRIMARY KEY ({tenant}, anchor_id, contradiction_id),
    CONSTRAINT {name}_{noun}_contradictions_memory FOREIGN KEY ({tenant}, anchor_id, memory_id)
        REFERENCES {family}_memory ({tenant}, anchor_id, memory_id) ON DELETE RESTRICT,
    CONSTRAINT {name}_{noun}_contradictions_canonical FOREIGN KEY ({tenant}, {canonical_id})
        REFERENCES {canonical} ({tenant}, {canonical_id}) ON DELETE RESTRICT
);

-- object: index {name}_{noun}_contradictions_open
CREATE INDEX {name}_{noun}_contradictions_open_idx ON {family}_{noun}_contradictions
    ({tenant}, anchor_id, observed_at)
    WHERE status IN ('open', 'surfaced_to_operator');

-- object: index {name}_{noun}_contradictions_memory
CREATE INDEX {name}_{noun}_contradictions_memory_idx ON {family}_{noun}_contradictions
    ({tenant}, anchor_id, memory_id);

-- object: function {name}_{noun}_contradiction_turn_v1
-- Open, then before an operator, then settled. Back it goes only to exactly what stood before: its
-- status with its notes, its moment and its author. What was surfaced was open before, and of that
-- there is nothing to remember. Anything else is refused, whoever asks. The trigger itself keeps
-- what stood, so that nobody can give a contradiction a past that it never had.
CREATE OR REPLACE FUNCTION {family}_{noun}_contradiction_turn_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.status, NEW.status) NOT IN (
            ('open', 'surfaced_to_operator'), ('open', 'dismissed'),
            ('surfaced_to_operator', 'dismissed'),
            ('surfaced_to_operator', 'promoted_to_revision_signal'))
        AND (NEW.status, NEW.resolution_notes, NEW.resolved_at, NEW.resolved_by) IS DISTINCT FROM
            (OLD.previous_status, OLD.previous_notes, OLD.previous_at, OLD.previous_by)
        AND NOT (OLD.status = 'surfaced_to_operator' AND NEW.status = 'open'
            AND num_nonnulls(NEW.resolution_notes, NEW.resolved_at, NEW.resolved_by) = 0) THEN
        RAISE EXCEPTION 'idetic.transition: a contradiction that is % cannot become %',
            OLD.status, NEW.status USING ERRCODE = 'ID007';
    END IF;
    NEW.previous_status := OLD.status;
    NEW.previous_notes := OLD.resolution_notes;
    NEW.previous_at := OLD.resolved_at;
    NEW.previous_by := OLD.resolved_by;
    NEW.previous_salt := OLD.notes_salt;
    RETURN NEW;
END
$$;

-- object: trigger {name}_{noun}_contradictions.turn
CREATE OR REPLACE TRIGGER turn BEFORE UPDATE OF status ON {family}_{noun}_contradictions
    FOR EACH ROW EXECUTE FUNCTION {family}_{noun}_contradiction_turn_v1();

-- end
-- if canonical_body:
-- object: table {name}_{noun}_prints
-- Where a run of words occurs among canonical rows: hints that tell in a few look-ups by key, for
-- any number of rows, whether a note could hold a part of one. A trigram index cannot: asked
-- for the parts of a note it read most of its pages (68 ms for 180 characters and 30,000 rules).
-- Hashes, never words; a row is always read again before anything is refused, so a hint that is
-- out of date costs a look and no more. They are only added to.
CREATE TABLE {family}_{noun}_prints (
    {tenant} {tenant_type} NOT NULL,
    print bigint NOT NULL,
    {canonical_id} uuid NOT NULL,
    CONSTRAINT {name}_{noun}_prints_pkey PRIMARY KEY ({tenant}, print, {canonical_id})
);

-- object: access {name}_{noun}_prints for the guard
GRANT SELECT, INSERT ON {family}_{noun}_prints TO idetic_guard;
DROP POLICY IF EXISTS guard_prints ON {family}_{noun}_prints;
CREATE POLICY guard_prints ON {family}_{noun}_prints FOR ALL TO idetic_guard
    USING (true) WITH CHECK (true);

-- end
-- object: view {name}_memory_with_{noun}
-- Entries beside the canonical content they refer to, joined when read and never copied.
DROP VIEW IF EXISTS {family}_memory_with_{noun};
CREATE VIEW {family}_memory_with_{noun} WITH (security_invoker = true) AS
    SELECT r.{tenant}, r.anchor_id,
        -- for each key:
        a.{key},
        -- end
        r.memory_id, r.{canonical_id},
        -- if canonical_body:
        c.{canonical_body} AS {noun}_text,
        -- end
        -- if canonical_strength:
        c.{canonical_strength} AS {noun}_strength,
        -- end
        -- if canonical_version:
        r.{noun}_version AS pinned_version, c.{canonical_version} AS current_version,
        -- end
        r.created_at AS referenced_at
    FROM {family}_memory_{noun}_refs r
    JOIN {family}_memory_anchors a ON a.{tenant} = r.{tenant} AND a.anchor_id = r.anchor_id
    JOIN {canonical} c ON c.{tenant} = r.{tenant} AND c.{canonical_id} = r.{canonical_id};
GRANT SELECT ON {family}_memory_with_{noun} TO {writers}, {readers};
-- end
