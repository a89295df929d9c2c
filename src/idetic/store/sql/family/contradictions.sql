-- object: table {family}_{noun}_contradictions
-- Contradictions are first-class and have a life of their own (D7).
CREATE TABLE {contradictions} (
    {anchor_defs},
    contradiction_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    {canonical_id} uuid NOT NULL,
    observed_at timestamptz NOT NULL,
    status idetic.contradiction_status NOT NULL DEFAULT 'open',
    resolution_notes text
        CONSTRAINT {c_contradictions_notes} CHECK (char_length(resolution_notes) <= 2000),
    CONSTRAINT {c_contradictions_pkey} PRIMARY KEY ({anchor}, contradiction_id),
    CONSTRAINT {c_contradictions_memory} FOREIGN KEY ({anchor}, memory_id)
        REFERENCES {memory} ({anchor}, memory_id) ON DELETE RESTRICT,
    CONSTRAINT {c_contradictions_canonical} FOREIGN KEY ({tenant}, {canonical_id})
        REFERENCES {canonical} ({tenant}, {canonical_id}) ON DELETE RESTRICT
);

-- object: index {family}_{noun}_contradictions_open
CREATE INDEX {i_contradictions_open} ON {contradictions} ({anchor}, observed_at)
    WHERE status IN ('open', 'surfaced_to_operator');
