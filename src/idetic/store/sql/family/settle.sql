-- object: function {family}_settle_v1
-- Apply what was decided about an anchor while it was held: entries made of others, states
-- turned, corroborations, removals, each with its link in the ledger. The deciding happens outside,
-- under the same lock and in the same transaction; this only writes.
-- A note that restates canonical content by now is refused here and told, not raised: the close of
-- a scope must not fail because a rule was written meanwhile.
CREATE OR REPLACE FUNCTION {settle}({anchor_params}, p_at timestamptz, p_kind idetic.principal,
    p_name text, p_version integer, p_steps jsonb)
RETURNS TABLE (r_position bigint, r_at timestamptz, r_receipt uuid, r_decision idetic.decision,
               r_reason text, r_memory uuid, r_detail jsonb)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    item record;
    source record;
    hit jsonb;
    prev_hash bytea;
    head_hash bytea;
    p_session uuid;
    p_interaction uuid;
    refused uuid[] := '{{}}';
    {root_declare}
BEGIN
    SELECT a.position, a.hash, greatest(a.at, p_at) {anchors_root}
    INTO r_position, head_hash, r_at {root_target} FROM {head}({anchor_p}) a;
    FOR item IN SELECT x.* FROM {steps} LOOP
        CONTINUE WHEN item.memory = ANY (refused);
        -- What went into a note that was refused went nowhere.
        IF (item.detail ->> 'into')::uuid = ANY (refused) THEN
            item.detail := item.detail - 'into';
        END IF;
        IF item.op = 'add' THEN
            hit := NULL;
            {settle_guard}
            IF hit IS NOT NULL THEN
                refused := refused || item.memory;
                {link_refused}
                CONTINUE;
            END IF;
            p_session := item.session;
            p_interaction := item.interaction;
            {insert_memory};
            IF item.refs IS NOT NULL THEN
                PERFORM {refer}({anchor_p}, item.memory, item.refs, item.provenance, {root_or_null}, r_at);
            END IF;
            IF item.copy_of IS NOT NULL THEN
                {copy_vector}
            END IF;
        ELSIF item.op = 'turn' THEN
            {turn_entry}
        ELSIF item.op = 'drop' THEN
            PERFORM {drop}({anchor_p}, item.ids);
            CONTINUE;
        ELSIF item.op = 'close' THEN
            UPDATE {scopes} s SET closed_at = r_at
            WHERE {anchor_is_p_s} AND s.closed_at IS NULL AND s.scope_id = ANY (item.ids);
        {more_ops}
        END IF;
        IF item.lineage IS NOT NULL THEN
            {insert_lineage}
        END IF;
        {link_step}
        r_receipt := item.receipt;
        r_decision := item.decision;
        r_reason := item.reason;
        r_memory := item.memory;
        r_detail := item.detail;
        RETURN NEXT;
    END LOOP;
    UPDATE {anchors} a SET position = r_position, hash = head_hash, at = r_at
    WHERE {anchor_is_p_a};
END
$$;
