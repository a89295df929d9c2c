-- object: function {name}_settle_v1
-- Apply what was decided about an anchor while it was held: entries made of others, states
-- turned, corroborations, removals, each with its link in the ledger. The deciding happens outside,
-- under the same lock and in the same transaction; this only writes.
-- A note that restates canonical content by now is refused here and told, not raised: the close of
-- a scope must not fail because a rule was written meanwhile.
CREATE OR REPLACE FUNCTION {family}_settle_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_at timestamptz, p_kind idetic.principal, p_name text, p_version integer, p_steps jsonb)
RETURNS TABLE (r_position bigint, r_at timestamptz, r_receipt uuid, r_decision idetic.decision,
               r_reason text, r_memory uuid, r_detail jsonb)
-- if plain:
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
-- end
-- if citus:
LANGUAGE plpgsql AS $$
-- end
#variable_conflict use_column
DECLARE
    item record;
    source record;
    turned record;
    hit jsonb;
    said text;
    prev_hash bytea;
    head_hash bytea;
    refused uuid[] := '{}';
    root_key uuid;
BEGIN
    SELECT a.position, a.hash, greatest(a.at, p_at), {root_of_a}
    INTO r_position, head_hash, r_at, root_key FROM {family}_head_v1(p_tenant, p_anchor) a;
    FOR item IN SELECT x.* FROM jsonb_populate_recordset(NULL::idetic.step, p_steps) x LOOP
        CONTINUE WHEN item.memory = ANY (refused);
        -- What went into a note that was refused went nowhere.
        IF (item.detail ->> 'into')::uuid = ANY (refused) THEN
            item.detail := item.detail - 'into';
        END IF;
        IF item.op = 'add' THEN
            hit := NULL;
            -- for each guarded noun:
            PERFORM pg_advisory_xact_lock_shared(
                hashtextextended('{canonical_text}' || p_tenant::text, 0));
            FOREACH said IN ARRAY {family}_texts_v1(item.body, item.envelope, item.provenance) LOOP
                hit := coalesce(hit, {family}_{noun}_shadow_v1(p_tenant, root_key, said));
            END LOOP;
            -- A text that an entry already has was looked at when that entry was admitted.
            IF item.copy_of IS NULL THEN
                hit := coalesce(hit, {family}_{noun}_restated_v1(p_tenant, p_anchor, root_key,
                    {family}_texts_v1(item.body, item.envelope, item.provenance), NULL, NULL));
            END IF;
            -- end
            IF hit IS NOT NULL THEN
                refused := refused || item.memory;
                r_position := r_position + 1;
                head_hash := {family}_chain_v1(p_tenant, p_anchor, r_position, head_hash,
                    item.receipt, r_at, 'refused', 'REJECT', NULL, p_kind, p_name, 'shadow', NULL,
                    NULL, hit);
                CONTINUE;
            END IF;
            item.detail := item.detail || jsonb_build_object('spec', p_version);
            IF item.refs IS NOT NULL THEN
                item.refs := {family}_pinned_v1(p_tenant, item.refs, root_key);
                item.detail := item.detail || jsonb_build_object('refs', item.refs);
            END IF;
            INSERT INTO {family}_memory ({tenant}, anchor_id, memory_id,
                -- if root:
                {root_id},
                -- end
                tier, typology, session_id, interaction_id, body_text, envelope, claim_subject,
                claim_attribute, claim_value, lexemes, provenance, origin, trust,
                valid_at, invalid_at, candidate,
                -- if log:
                event_id, loop_id, importance,
                -- end
                spec_version, content_hash, digest_salt, created_at, created_by)
            VALUES (p_tenant, p_anchor, item.memory,
                -- if root:
                root_key,
                -- end
                item.tier, item.typology, item.session, item.interaction, item.body, item.envelope,
                item.claim ->> 'subject', item.claim ->> 'attribute', item.claim ->> 'value',
                to_tsvector('pg_catalog.english', concat_ws(': ', item.envelope ->> 'speaker', item.body)), item.provenance,
                item.origin, item.trust, coalesce(item.valid_at, r_at), item.invalid_at,
                coalesce(item.candidate, false),
                -- if log:
                item.event, item.loop_id, item.importance,
                -- end
                p_version, decode(item.hash, 'hex'), decode(item.salt, 'hex'), r_at,
                p_kind || ':' || p_name);
            IF item.refs IS NOT NULL THEN
                PERFORM {family}_refer_v1(p_tenant, p_anchor, item.memory, item.refs,
                    item.provenance, r_at);
            END IF;
            IF item.copy_of IS NOT NULL THEN
                -- It says exactly what its source said: it has its vectors too, in the tenant's profile.
                INSERT INTO {family}_memory_embeddings ({tenant}, anchor_id, embedding_id,
                    memory_id, profile_id, tier, typology, embedding, embedded_at, piece)
                SELECT p_tenant, p_anchor,
                    CASE e.piece WHEN 0 THEN item.embedding ELSE gen_random_uuid() END,
                    item.memory, e.profile_id, item.tier, item.typology, e.embedding, r_at, e.piece
                FROM {family}_memory_embeddings e
                WHERE e.{tenant} = p_tenant AND e.anchor_id = p_anchor
                  AND e.memory_id = item.copy_of AND e.profile_id = (
                    SELECT p.profile_id FROM {family}_memory_profiles p
                    WHERE p.{tenant} = p_tenant ORDER BY p.activation_id DESC LIMIT 1);
                IF FOUND THEN
                    UPDATE {family}_memory m SET embedding_id = item.embedding
                    WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor
                      AND m.memory_id = item.memory;
                END IF;
            END IF;
        ELSIF item.op = 'turn' THEN
            -- Only the named state columns; what they were is in the link, so that undo can put
            -- them back.
            SELECT t.* INTO turned
            FROM jsonb_populate_record(NULL::{family}_memory, item.turned) t;
            UPDATE {family}_memory m SET
                valid_at = CASE WHEN item.turned ? 'valid_at' THEN turned.valid_at
                    ELSE m.valid_at END,
                invalid_at = CASE WHEN item.turned ? 'invalid_at' THEN turned.invalid_at
                    ELSE m.invalid_at END,
                archived_at = CASE WHEN item.turned ? 'archived_at' THEN turned.archived_at
                    ELSE m.archived_at END,
                superseded_at = CASE WHEN item.turned ? 'superseded_at' THEN turned.superseded_at
                    ELSE m.superseded_at END,
                invalidated_at = CASE WHEN item.turned ? 'invalidated_at' THEN turned.invalidated_at
                    ELSE m.invalidated_at END,
                deleted_at = CASE WHEN item.turned ? 'deleted_at' THEN turned.deleted_at
                    ELSE m.deleted_at END,
                exempt_at = CASE WHEN item.turned ? 'exempt_at' THEN turned.exempt_at
                    ELSE m.exempt_at END,
                meta_at = CASE WHEN item.turned ? 'meta_at' THEN turned.meta_at
                    ELSE m.meta_at END,
                core_at = CASE WHEN item.turned ? 'core_at' THEN turned.core_at
                    ELSE m.core_at END,
                superseded_by = CASE WHEN item.turned ? 'superseded_by' THEN turned.superseded_by
                    ELSE m.superseded_by END,
                candidate = CASE WHEN item.turned ? 'candidate' THEN turned.candidate
                    ELSE m.candidate END
            WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.memory_id = item.memory;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'idetic.entry_not_found: no entry % in this scope', item.memory
                    USING ERRCODE = 'ID006';
            END IF;
        ELSIF item.op = 'drop' THEN
            PERFORM {family}_drop_v1(p_tenant, p_anchor, item.ids);
            CONTINUE;
        ELSIF item.op = 'close' THEN
            UPDATE {family}_memory_scopes s SET closed_at = r_at
            WHERE s.{tenant} = p_tenant AND s.anchor_id = p_anchor AND s.closed_at IS NULL
              AND s.scope_id = ANY (item.ids);
            item.detail := item.detail || {family}_witness_v1(p_tenant, p_anchor, r_position + 1);
        -- if corroborations:
        ELSIF item.op = 'corroborate' THEN
            INSERT INTO {family}_memory_corroborations ({tenant}, anchor_id, corroboration_id,
                memory_id, source_type, source_ref, provenance, corroborated_at, corroborated_by,
                source_by, session_id, origin, notes, notes_salt)
            VALUES (p_tenant, p_anchor, item.row_id, item.memory, item.source_type,
                item.source_ref, item.provenance, least(item.seen_at, r_at),
                p_kind || ':' || p_name, item.source_by, item.session, item.origin, item.notes,
                decode(item.salt, 'hex'));
        ELSIF item.op = 'withdraw' THEN
            UPDATE {family}_memory_corroborations m SET withdrawn_at = r_at
            WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor
              AND m.corroboration_id = item.row_id;
        ELSIF item.op = 'reinstate' THEN
            UPDATE {family}_memory_corroborations m SET withdrawn_at = NULL
            WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor
              AND m.corroboration_id = item.row_id;
        -- end
        -- if proposals:
        ELSIF item.op = 'propose' THEN
            INSERT INTO {family}_memory_proposals ({tenant}, anchor_id, proposal_id, memory_id,
                proposal_kind, about_id, statement, support, proposed_at, proposed_by, statement_salt)
            VALUES (p_tenant, p_anchor, item.row_id, item.memory, item.proposal, item.source_ref,
                item.body, item.support, r_at, p_kind || ':' || p_name, decode(item.salt, 'hex'));
        ELSIF item.op = 'decide' THEN
            UPDATE {family}_memory_proposals m SET proposal_status = item.outcome,
                decision_reason = item.notes, decided_at = r_at,
                decided_by = p_kind || ':' || p_name, reason_salt = decode(item.salt, 'hex')
            WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.proposal_id = item.row_id;
        ELSIF item.op = 'act' THEN
            INSERT INTO {family}_memory_actions ({tenant}, anchor_id, action_id, memory_id,
                action_kind, linked_at, linked_by)
            VALUES (p_tenant, p_anchor, item.row_id, item.memory, item.noun, r_at,
                p_kind || ':' || p_name);
        -- end
        -- for each contradicted noun:
        ELSIF item.op = 'contradict' AND item.noun = '{noun}' THEN
            INSERT INTO {family}_{noun}_contradictions ({tenant}, anchor_id, contradiction_id,
                memory_id, {canonical_id}, provenance, observed_at, observed_by)
            VALUES (p_tenant, p_anchor, item.row_id, item.memory, item.source_ref,
                item.provenance, r_at, p_kind || ':' || p_name);
        ELSIF item.op = 'resolve' AND item.noun = '{noun}' THEN
            UPDATE {family}_{noun}_contradictions m SET status = item.status,
                resolution_notes = item.notes, resolved_at = r_at,
                resolved_by = p_kind || ':' || p_name, notes_salt = decode(item.salt, 'hex')
            WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor
              AND m.contradiction_id = item.row_id;
        ELSIF item.op = 'unresolve' AND item.noun = '{noun}' THEN
            UPDATE {family}_{noun}_contradictions m SET status = item.status,
                resolution_notes = CASE WHEN item.status <> 'open' THEN m.previous_notes END,
                resolved_at = CASE WHEN item.status <> 'open' THEN m.previous_at END,
                resolved_by = CASE WHEN item.status <> 'open' THEN m.previous_by END,
                notes_salt = CASE WHEN item.status <> 'open' THEN m.previous_salt END
            WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor
              AND m.contradiction_id = item.row_id;
        -- end
        END IF;
        FOR source IN SELECT l.* FROM jsonb_to_recordset(item.lineage) AS l(source_id uuid,
            relation idetic.relation, session_id uuid, interaction_id uuid, provenance jsonb,
            origin idetic.origin, trust smallint, observed_at timestamptz)
        LOOP
            INSERT INTO {family}_memory_lineage ({tenant}, anchor_id, memory_id, source_id,
                relation, session_id, interaction_id, provenance, origin, trust, observed_at)
            VALUES (p_tenant, p_anchor, item.memory, source.source_id, source.relation,
                source.session_id, source.interaction_id, source.provenance, source.origin,
                source.trust, source.observed_at)
            ON CONFLICT ({tenant}, anchor_id, memory_id, source_id) DO NOTHING;
        END LOOP;
        r_position := r_position + 1;
        prev_hash := head_hash;
        head_hash := sha256(prev_hash || idetic.link_content_v1(r_position, item.receipt, r_at,
            item.transition, item.decision, item.memory, p_kind, p_name, item.reason,
            item.state_from, item.state_to, item.detail));
        INSERT INTO {family}_memory_ledger ({tenant}, anchor_id, position, receipt_id, at,
            transition, decision, memory_id, actor_kind, actor, reason, state_from, state_to,
            detail, prev_hash, hash)
        VALUES (p_tenant, p_anchor, r_position, item.receipt, r_at, item.transition,
            item.decision, item.memory, p_kind, p_name, item.reason, item.state_from,
            item.state_to, item.detail, prev_hash, head_hash);
        r_receipt := item.receipt;
        r_decision := item.decision;
        r_reason := item.reason;
        r_memory := item.memory;
        r_detail := item.detail;
        RETURN NEXT;
    END LOOP;
    UPDATE {family}_memory_anchors a SET position = r_position, hash = head_hash, at = r_at
    WHERE a.{tenant} = p_tenant AND a.anchor_id = p_anchor;
END
$$;
