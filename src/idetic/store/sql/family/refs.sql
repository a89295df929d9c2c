-- object: table {family}_memory_{noun}_refs
-- References to canonical rows: a junction with real foreign keys and a version pin, never an
-- array of ids (D6).
CREATE TABLE {refs} (
    {anchor_defs},
    ref_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    {canonical_id} uuid NOT NULL,
    {canonical_version_def}
    created_at timestamptz NOT NULL,
    CONSTRAINT {c_refs_pkey} PRIMARY KEY ({anchor}, ref_id),
    CONSTRAINT {c_refs_once} UNIQUE ({anchor}, memory_id, {canonical_id}),
    CONSTRAINT {c_refs_memory} FOREIGN KEY ({anchor}, memory_id)
        REFERENCES {memory} ({anchor}, memory_id) ON DELETE RESTRICT,
    {canonical_version_fk}
    CONSTRAINT {c_refs_canonical} FOREIGN KEY ({tenant}, {canonical_id})
        REFERENCES {canonical} ({tenant}, {canonical_id}) ON DELETE RESTRICT
);

-- object: index {family}_memory_{noun}_refs_canonical
-- Which entries rest on a canonical row: asked when that row changes.
CREATE INDEX {i_refs_canonical} ON {refs} ({tenant}, {canonical_id});
