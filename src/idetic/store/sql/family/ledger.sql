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

-- object: trigger {family}_memory_ledger.append_only
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON {ledger}
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE OR REPLACE TRIGGER append_only_truncate BEFORE TRUNCATE ON {ledger}
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();

-- object: trigger {family}_memory_embeddings.append_only
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE ON {embeddings}
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();

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

-- object: trigger {family}_memory_receipts.append_only
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON {receipts}
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE OR REPLACE TRIGGER append_only_truncate BEFORE TRUNCATE ON {receipts}
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();

-- object: trigger {family}_memory_profiles.append_only
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON {profiles}
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE OR REPLACE TRIGGER append_only_truncate BEFORE TRUNCATE ON {profiles}
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();

-- object: trigger {family}_memory_reads.append_only
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON {reads}
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE OR REPLACE TRIGGER append_only_truncate BEFORE TRUNCATE ON {reads}
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();
