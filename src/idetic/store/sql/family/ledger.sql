-- object: table {family}_memory_ledger
-- Append-only history of every transition, hash-chained per anchor. A write's receipt is a
-- reading of its row here: nothing that was acknowledged can be missing from the history.
CREATE TABLE {ledger} (
    {anchor_defs},
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
    CONSTRAINT {c_ledger_pkey} PRIMARY KEY ({anchor}, position)
);

-- object: index {family}_memory_ledger_entry
-- One entry's history, and the state of every entry as of a moment.
CREATE INDEX {i_ledger_entry} ON {ledger} ({anchor}, memory_id, position);

-- object: index {family}_memory_ledger_refused
-- What was refused lately: asked before every write, to see over which canonical rows a scope has
-- spent its retries. Nearly always empty.
CREATE INDEX {i_ledger_refused} ON {ledger} ({anchor}, at) WHERE transition = 'refused';

-- object: index {family}_memory_ledger_quarantined
-- The quarantines of an anchor: what an operator's list begins with. As good as empty.
CREATE INDEX {i_ledger_quarantined} ON {ledger} ({anchor}, position) WHERE transition = 'quarantined';

-- object: table {family}_memory_anchors
-- The anchors that have memory: the end of each one's chain, found by primary key (the ledger's
-- own last row is not: under RLS the planner misjudges it and sorts the whole chain), and the
-- root it belongs to. The root's foreign key stands here, once per anchor instead of once per
-- entry: it protects the same (a root with any memory cannot go) without a look-up and a row
-- lock in every write.
CREATE TABLE {anchors} (
    {anchor_defs},
    {root_def}
    position bigint NOT NULL,
    hash bytea NOT NULL,
    at timestamptz NOT NULL,
    {root_fk}
    CONSTRAINT {c_anchors_pkey} PRIMARY KEY ({anchor})
) WITH (fillfactor = 50);

-- object: table {family}_memory_receipts
-- Idempotency keys. The receipt itself is the ledger row at `position`; this says which.
-- In the family, not in the core schema: it is written with the entry, on the same shard.
CREATE TABLE {receipts} (
    {anchor_defs},
    idempotency_key text NOT NULL,
    request_digest bytea NOT NULL,
    position bigint NOT NULL,
    CONSTRAINT {c_receipts_pkey} PRIMARY KEY ({anchor}, idempotency_key),
    CONSTRAINT {c_receipts_ledger} FOREIGN KEY ({anchor}, position)
        REFERENCES {ledger} ({anchor}, position) ON DELETE RESTRICT
);

