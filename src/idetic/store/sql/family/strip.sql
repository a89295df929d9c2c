-- object: index {family}_memory_tombstones
-- The tombstones that still have their payload: few, however many entries and shells there are.
CREATE INDEX {i_tombstones} ON {memory} ({anchor}, typology, deleted_at)
    WHERE deleted_at IS NOT NULL AND digest_salt IS NOT NULL;

-- object: function {family}_emptied_v1
-- `immutable` lets an entry change while it is being erased. This sees to it that nothing else
-- than erasing happens then, whoever says so: a tombstone may be emptied, and never be rewritten.
CREATE OR REPLACE FUNCTION {emptied}() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.deleted_at IS NULL OR NEW.body_text <> '' OR NEW.lexemes <> ''
        OR NEW.envelope::jsonb NOT IN ('{{}}', OLD.envelope - 'claim')
        OR num_nonnulls(NEW.claim_subject, NEW.claim_attribute, NEW.claim_value, NEW.substance,
                        NEW.digest_salt, NEW.embedding_id) > 0
        OR to_jsonb(NEW) - ARRAY[{payload}] <> to_jsonb(OLD) - ARRAY[{payload}] THEN
        RAISE EXCEPTION 'idetic.append_only: a tombstone can be emptied, and nothing else'
            USING ERRCODE = 'ID001';
    END IF;
    RETURN NEW;
END
$$;

-- object: trigger {family}_memory.emptied
CREATE OR REPLACE TRIGGER emptied BEFORE UPDATE ON {memory}
    FOR EACH ROW WHEN (OLD.memory_id::text = current_setting('idetic.erasing', true))
    EXECUTE FUNCTION {emptied}();

-- object: function {family}_strip_v1
-- as: keeper
-- Take away what tombstones say: text, claim, words, vectors, notes about them, and the salt
-- without which nobody can try guesses against the hash that the ledger keeps. The rows stay, and
-- so do their references, lineage, actions and history. The caller knows the policy and says which
-- tombstones are old enough; here they must be that old, all of them or none is emptied.
-- One at a time, because each is named to the triggers: with a literal SET, which Citus passes on,
-- and which a failure takes back with all the rest.
CREATE OR REPLACE FUNCTION {strip}({anchor_params}, p_ids uuid[], p_before timestamptz,
    p_keep_envelope boolean) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wanted uuid;
BEGIN
    IF NOT coalesce({anchor_is_bound}, false) THEN
        RAISE EXCEPTION 'idetic.entry_not_found: this anchor is not bound' USING ERRCODE = 'ID006';
    END IF;
    FOREACH wanted IN ARRAY p_ids LOOP
        EXECUTE format('SET LOCAL idetic.erasing = %L', coalesce(wanted::text, ''));
        UPDATE {memory} m SET body_text = '', lexemes = '', substance = NULL,
            envelope = CASE WHEN p_keep_envelope THEN m.envelope - 'claim' ELSE '{{}}' END,
            claim_subject = NULL, claim_attribute = NULL, claim_value = NULL,
            digest_salt = NULL, embedding_id = NULL
        WHERE {anchor_is_p_m} AND m.memory_id = wanted AND m.deleted_at <= p_before;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'idetic.transition: entry % is no tombstone whose grace is over', wanted
                USING ERRCODE = 'ID007';
        END IF;
        DELETE FROM {embeddings} m WHERE {anchor_is_p_m} AND m.memory_id = wanted;
        {strip_notes}
    END LOOP;
    SET LOCAL idetic.erasing = '';
    RETURN cardinality(p_ids);
END
$$;
REVOKE EXECUTE ON FUNCTION {strip} FROM PUBLIC;
GRANT EXECUTE ON FUNCTION {strip} TO idetic_app;
