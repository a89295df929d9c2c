-- object: function {name}_protect_v1
-- Persistent rows and rows an action rests on are never deleted; other transient rows only by
-- the scope-close code, which says so with a setting local to its transaction.
CREATE OR REPLACE FUNCTION {family}_protect_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.tier = 'persistent' THEN
        RAISE EXCEPTION 'idetic.append_only: persistent memory is never deleted'
            USING ERRCODE = 'ID001';
    END IF;
    IF EXISTS (SELECT FROM {family}_memory_actions a WHERE a.{tenant} = OLD.{tenant}
               AND a.anchor_id = OLD.anchor_id AND a.memory_id = OLD.memory_id) THEN
        RAISE EXCEPTION 'idetic.append_only: an action rests on this entry' USING ERRCODE = 'ID001';
    END IF;
    IF coalesce(current_setting('idetic.closing', true), '') <> OLD.session_id::text THEN
        RAISE EXCEPTION 'idetic.append_only: only the close of its scope removes an entry'
            USING ERRCODE = 'ID001';
    END IF;
    RETURN OLD;
END
$$;

-- object: trigger {name}_memory.protect
CREATE OR REPLACE TRIGGER protect BEFORE DELETE ON {family}_memory
    FOR EACH ROW EXECUTE FUNCTION {family}_protect_v1();
CREATE OR REPLACE TRIGGER protect_truncate BEFORE TRUNCATE ON {family}_memory
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();

-- object: function {name}_immutable_v1
-- What an entry says is written once. Only erasure may strip it, and says so in the ledger.
CREATE OR REPLACE FUNCTION {family}_immutable_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(current_setting('idetic.erasing', true), '') <> OLD.memory_id::text THEN
        RAISE EXCEPTION 'idetic.append_only: an entry''s content is written once'
            USING ERRCODE = 'ID001';
    END IF;
    RETURN NEW;
END
$$;

-- object: trigger {name}_memory.immutable
CREATE OR REPLACE TRIGGER immutable
    BEFORE UPDATE OF {tenant}, anchor_id, memory_id,
        -- if root:
        {root_id},
        -- end
        tier, typology, session_id, interaction_id, body_text, envelope, claim_subject,
        claim_attribute, claim_value, lexemes, provenance, origin, trust, spec_version,
        -- if log:
        event_id, loop_id, importance,
        -- end
        content_hash, digest_salt, created_at, created_by ON {family}_memory
    FOR EACH ROW EXECUTE FUNCTION {family}_immutable_v1();

-- object: function {name}_release_v1
-- A row that belongs to an entry (a reference, a corroboration, a vector, its lineage) goes only
-- with that entry, when the transient scope it lived in closes; or when the entry is emptied.
CREATE OR REPLACE FUNCTION {family}_release_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    owner record;
BEGIN
    IF OLD.memory_id::text = current_setting('idetic.erasing', true) THEN
        RETURN OLD;
    END IF;
    -- By its key alone: with the tier among the conditions, tables that nobody has analysed yet are
    -- searched through the index of everything transient, once for each row that goes.
    SELECT m.tier, m.session_id INTO owner FROM {family}_memory m
    WHERE m.{tenant} = OLD.{tenant} AND m.anchor_id = OLD.anchor_id AND m.memory_id = OLD.memory_id;
    IF (owner.tier <> 'persistent'
        AND owner.session_id::text = current_setting('idetic.closing', true)) IS NOT TRUE THEN
        RAISE EXCEPTION 'idetic.append_only: DELETE on %.% is refused', TG_TABLE_SCHEMA, TG_TABLE_NAME
            USING ERRCODE = 'ID001';
    END IF;
    RETURN OLD;
END
$$;

-- object: function {name}_emptied_v1
-- `immutable` lets an entry change while it is being erased. This sees to it that nothing else
-- than erasing happens then, whoever says so: a tombstone may be emptied, and never be rewritten.
CREATE OR REPLACE FUNCTION {family}_emptied_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    -- What an entry says, in every form it is kept in; the rest is its identity and its life.
    payload CONSTANT text[] := ARRAY['body_text', 'envelope', 'claim_subject', 'claim_attribute',
        'claim_value', 'lexemes', 'digest_salt', 'embedding_id'];
BEGIN
    IF OLD.deleted_at IS NULL OR NEW.body_text <> '' OR NEW.lexemes <> ''
        OR NEW.envelope::jsonb NOT IN ('{}', OLD.envelope - 'claim' - 'speaker')
        OR num_nonnulls(NEW.claim_subject, NEW.claim_attribute, NEW.claim_value, NEW.digest_salt,
                        NEW.embedding_id) > 0
        OR to_jsonb(NEW) - payload <> to_jsonb(OLD) - payload THEN
        RAISE EXCEPTION 'idetic.append_only: a tombstone can be emptied, and nothing else'
            USING ERRCODE = 'ID001';
    END IF;
    RETURN NEW;
END
$$;

-- object: trigger {name}_memory.emptied
CREATE OR REPLACE TRIGGER emptied BEFORE UPDATE ON {family}_memory
    FOR EACH ROW WHEN (OLD.memory_id::text = current_setting('idetic.erasing', true))
    EXECUTE FUNCTION {family}_emptied_v1();

-- object: function {name}_vector_kept_v1
-- A vector says what its entry said. One that was computed before its entry was emptied, and comes
-- to be stored after it, is left out. The row's lock makes the two wait for each other: without it
-- neither would see what the other has not committed.
CREATE OR REPLACE FUNCTION {family}_vector_kept_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    emptied boolean;
BEGIN
    SELECT m.digest_salt IS NULL INTO emptied FROM {family}_memory m
    WHERE m.{tenant} = NEW.{tenant} AND m.anchor_id = NEW.anchor_id AND m.memory_id = NEW.memory_id
    FOR NO KEY UPDATE;
    IF emptied THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;

-- object: trigger {name}_memory_embeddings.vector_kept
CREATE OR REPLACE TRIGGER vector_kept BEFORE INSERT ON {family}_memory_embeddings
    FOR EACH ROW EXECUTE FUNCTION {family}_vector_kept_v1();

-- object: function {name}_erasable_v1
-- Who read an entry is forgotten only while that entry is being erased, or its whole anchor.
CREATE OR REPLACE FUNCTION {family}_erasable_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(current_setting('idetic.erasing', true), '') NOT IN (OLD.memory_id::text, 'reads') THEN
        RAISE EXCEPTION 'idetic.append_only: % on %.% is refused', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
            USING ERRCODE = 'ID001';
    END IF;
    RETURN OLD;
END
$$;

-- object: function {name}_seen_v1
-- A read is written once; only which link tells of it may be added, once, by the keeper.
CREATE OR REPLACE FUNCTION {family}_seen_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF current_user = 'idetic_keeper' AND OLD.witness IS NULL AND NEW.witness IS NOT NULL
       AND to_jsonb(NEW) - 'witness' = to_jsonb(OLD) - 'witness' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'idetic.append_only: % on %.% is refused', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'ID001';
END
$$;

-- object: function {name}_forgotten_v1
-- The digest of a request is a hash of what was written, without a salt: whoever holds it can try
-- guesses. It may be emptied, and a key that names somebody replaced; nothing else of the row, and
-- not outside an erasure. The key stays taken, so that a late retry cannot write it all again.
CREATE OR REPLACE FUNCTION {family}_forgotten_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(current_setting('idetic.erasing', true), '') <> 'receipts' OR NEW.request_digest <> ''
        OR NEW.salt <> '' OR NOT (NEW.idempotency_key = OLD.idempotency_key OR NEW.idempotency_key LIKE 'erased %')
        OR to_jsonb(NEW) - ARRAY['request_digest', 'idempotency_key', 'salt']
            <> to_jsonb(OLD) - ARRAY['request_digest', 'idempotency_key', 'salt'] THEN
        RAISE EXCEPTION 'idetic.append_only: % on %.% is refused', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
            USING ERRCODE = 'ID001';
    END IF;
    RETURN NEW;
END
$$;

-- object: function {name}_unsaid_v1
-- The reason of a link may be emptied, and nothing else of it; and not outside an erasure.
CREATE OR REPLACE FUNCTION {family}_unsaid_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(current_setting('idetic.erasing', true), '') <> 'ledger' OR NEW.reason <> '[erased]'
        OR to_jsonb(NEW) - 'reason' <> to_jsonb(OLD) - 'reason' THEN
        RAISE EXCEPTION 'idetic.append_only: % on %.% is refused', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
            USING ERRCODE = 'ID001';
    END IF;
    RETURN NEW;
END
$$;

-- if corroborations:
-- object: trigger {name}_memory_corroborations.written_once
-- Who said what is written once; only that it was withdrawn may be added. When its entry is emptied
-- its notes go too, and nothing else of it.
CREATE OR REPLACE TRIGGER written_once BEFORE UPDATE OF {tenant}, anchor_id, corroboration_id,
    memory_id, source_type, source_ref, provenance, corroborated_at, corroborated_by, source_by,
    session_id, origin, notes, notes_salt ON {family}_memory_corroborations
    FOR EACH ROW WHEN (
        OLD.memory_id::text IS DISTINCT FROM current_setting('idetic.erasing', true)
        OR num_nonnulls(NEW.notes, NEW.notes_salt) > 0
        OR to_jsonb(NEW) - 'notes' - 'notes_salt' <> to_jsonb(OLD) - 'notes' - 'notes_salt')
    EXECUTE FUNCTION idetic.refuse_change_v1();
-- end

-- if proposals:
-- object: function {name}_proposal_turn_v1
-- A proposal is decided once, by its receiver or by who withdraws it; what it said is written once.
-- When the entry whose words it has is emptied, its texts go too, and nothing else of it.
CREATE OR REPLACE FUNCTION {family}_proposal_turn_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    decision CONSTANT text[] := ARRAY['proposal_status', 'decision_reason', 'decided_at',
        'decided_by', 'reason_salt'];
    texts CONSTANT text[] := ARRAY['statement', 'statement_salt', 'decision_reason', 'reason_salt'];
BEGIN
    IF OLD.memory_id::text = current_setting('idetic.erasing', true)
        AND num_nonnulls(NEW.statement, NEW.statement_salt, NEW.decision_reason, NEW.reason_salt) = 0
        AND to_jsonb(NEW) - texts = to_jsonb(OLD) - texts THEN
        RETURN NEW;
    END IF;
    IF OLD.proposal_status <> 'open' OR NEW.proposal_status = 'open'
        OR to_jsonb(NEW) - decision <> to_jsonb(OLD) - decision THEN
        RAISE EXCEPTION 'idetic.transition: a proposal that is % cannot become %',
            OLD.proposal_status, NEW.proposal_status USING ERRCODE = 'ID007';
    END IF;
    RETURN NEW;
END
$$;

-- object: trigger {name}_memory_proposals.turn
CREATE OR REPLACE TRIGGER turn BEFORE UPDATE ON {family}_memory_proposals
    FOR EACH ROW EXECUTE FUNCTION {family}_proposal_turn_v1();
-- end

-- for each table:
-- if written_once:
-- object: trigger {table_name}.append_only
-- Rows are written once.
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE ON {table}
    FOR EACH ROW EXECUTE FUNCTION {refuse_update}();
-- end
-- if kept:
-- object: trigger {table_name}.removal
-- Rows stay, for the owner too; those that belong to a transient entry go with its scope.
CREATE OR REPLACE TRIGGER append_only_delete BEFORE DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION {refuse_delete}();
CREATE OR REPLACE TRIGGER append_only_truncate BEFORE TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();
-- end
-- end
