-- object: table {family}_{noun}_contradictions
-- Contradictions are first-class and have a life of their own (D7).
CREATE TABLE {contradictions} (
    {anchor_defs},
    contradiction_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    {canonical_id} uuid NOT NULL,
    observed_at timestamptz NOT NULL,
    observed_by text NOT NULL,
    status idetic.contradiction_status NOT NULL DEFAULT 'open',
    resolution_notes text
        CONSTRAINT {c_contradictions_notes} CHECK (char_length(resolution_notes) <= 2000),
    resolved_at timestamptz,
    resolved_by text,
    CONSTRAINT {c_contradictions_pkey} PRIMARY KEY ({anchor}, contradiction_id),
    CONSTRAINT {c_contradictions_memory} FOREIGN KEY ({anchor}, memory_id)
        REFERENCES {memory} ({anchor}, memory_id) ON DELETE RESTRICT,
    CONSTRAINT {c_contradictions_canonical} FOREIGN KEY ({tenant}, {canonical_id})
        REFERENCES {canonical} ({tenant}, {canonical_id}) ON DELETE RESTRICT
);

-- object: index {family}_{noun}_contradictions_open
CREATE INDEX {i_contradictions_open} ON {contradictions} ({anchor}, observed_at)
    WHERE status IN ('open', 'surfaced_to_operator');

-- object: index {family}_{noun}_contradictions_memory
CREATE INDEX {i_contradictions_memory} ON {contradictions} ({anchor}, memory_id);

-- object: column {family}_{noun}_contradictions.previous_status
-- What stood before the last move, so that it can be taken back to the letter. Here and not in the
-- ledger: notes are free text, and an erasure must be able to reach them.
ALTER TABLE {contradictions} ADD COLUMN IF NOT EXISTS previous_status idetic.contradiction_status;
ALTER TABLE {contradictions} ADD COLUMN IF NOT EXISTS previous_notes text;
ALTER TABLE {contradictions} ADD COLUMN IF NOT EXISTS previous_at timestamptz;
ALTER TABLE {contradictions} ADD COLUMN IF NOT EXISTS previous_by text;

-- object: function {family}_{noun}_contradiction_turn_v1
-- Open, then before an operator, then settled. Back it goes only to exactly what stood before: its
-- status with its notes, its moment and its author. What was surfaced was open before, and of that
-- there is nothing to remember. Anything else is refused, whoever asks. The trigger itself keeps
-- what stood, so that nobody can give a contradiction a past that it never had.
CREATE OR REPLACE FUNCTION {contradiction_turn}() RETURNS trigger
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
    RETURN NEW;
END
$$;

-- object: trigger {family}_{noun}_contradictions.turn
CREATE OR REPLACE TRIGGER turn BEFORE UPDATE OF status ON {contradictions}
    FOR EACH ROW EXECUTE FUNCTION {contradiction_turn}();
