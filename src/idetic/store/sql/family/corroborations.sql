-- object: table {family}_memory_corroborations
-- What supports an entry, with its source and not only its time (D9). The unique key means a
-- replay cannot inflate a count.
CREATE TABLE {corroborations} (
    {anchor_defs},
    corroboration_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    source_type idetic.source_type NOT NULL,
    source_ref uuid NOT NULL,
    corroborated_at timestamptz NOT NULL,
    corroborated_by text NOT NULL,
    -- Where the source stood: independence is counted over sources, validity over sessions.
    session_id uuid,
    origin idetic.origin NOT NULL,
    -- An undone corroboration stays, and no longer counts.
    withdrawn_at timestamptz,
    notes text CONSTRAINT {c_corroborations_notes} CHECK (char_length(notes) <= 500),
    CONSTRAINT {c_corroborations_pkey} PRIMARY KEY ({anchor}, corroboration_id),
    CONSTRAINT {c_corroborations_source} UNIQUE ({anchor}, memory_id, source_type, source_ref),
    CONSTRAINT {c_corroborations_memory} FOREIGN KEY ({anchor}, memory_id)
        REFERENCES {memory} ({anchor}, memory_id) ON DELETE RESTRICT
);
