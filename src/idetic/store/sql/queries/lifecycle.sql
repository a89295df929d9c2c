-- query: hold
-- Take the anchor and hold it to commit: what is read from here on is what will be written about.
SELECT h.position, nullif(h.at, '-infinity') FROM {head}({arguments}) h

-- query: scopes
-- A session with its interactions, or one interaction.
SELECT s.scope_id, s.tier, s.session_id, s.opened_at, s.opened_by, s.renewed_at, s.closed_at
FROM {scopes} s WHERE {scope_s} AND (s.scope_id = {scope_id} OR s.session_id = {scope_id})
ORDER BY s.scope_id

-- query: renew
UPDATE {scopes} s SET renewed_at = {moment}
WHERE {scope_s} AND s.scope_id = ANY ({ids}) AND s.closed_at IS NULL RETURNING s.scope_id

-- query: silent
-- Open sessions in which nothing was opened, written, read or renewed since a moment.
SELECT s.scope_id FROM {scopes} s
WHERE {scope_s} AND s.tier = 'session' AND s.closed_at IS NULL AND s.opened_at < {moment}
  AND NOT EXISTS (SELECT FROM {scopes} a WHERE {scope_a} AND a.session_id = s.scope_id
                  AND greatest(a.opened_at, a.renewed_at) >= {moment})
  AND NOT EXISTS (SELECT FROM {memory} m WHERE {scope_m} AND m.session_id = s.scope_id
                  AND m.created_at >= {moment})
  AND NOT EXISTS (SELECT FROM {reads} r WHERE {scope_r} AND r.session_id = s.scope_id
                  AND r.read_at >= {moment})
ORDER BY s.opened_at LIMIT {limit}

-- query: silent_interactions
-- Open interactions of sessions that still live, silent themselves since a moment.
SELECT s.scope_id, s.session_id FROM {scopes} s
WHERE {scope_s} AND s.tier = 'interaction' AND s.closed_at IS NULL
  AND greatest(s.opened_at, s.renewed_at) < {moment}
  AND NOT EXISTS (SELECT FROM {memory} m WHERE {scope_m} AND m.session_id = s.session_id
                  AND m.interaction_id = s.scope_id AND m.created_at >= {moment})
  AND NOT EXISTS (SELECT FROM {reads} r WHERE {scope_r} AND r.session_id = s.session_id
                  AND r.interaction_id = s.scope_id AND r.read_at >= {moment})
ORDER BY s.opened_at LIMIT {limit}

-- query: known
-- Entries as a pass sees them: with their vector in the tenant's profile, and whether something
-- rests on them. The vector is looked up for each entry and not joined: in tables that nobody has
-- analysed yet the planner would compare every entry with every vector of the anchor.
SELECT (SELECT v.embedding FROM {embeddings} v
        WHERE {scope_v} AND v.memory_id = m.memory_id AND v.profile_id = (
            SELECT p.profile_id FROM {profiles} p WHERE {scope_tenant_p}
            ORDER BY p.activation_id DESC LIMIT 1))::text, {rests}, {columns}
FROM {memory} m
WHERE {scope_m} AND {which}
ORDER BY m.memory_id

-- query: rests
EXISTS (SELECT FROM {actions} a WHERE {scope_a} AND a.memory_id = m.memory_id)

-- query: contradicted
EXISTS (SELECT FROM {contradictions} c WHERE {scope_c} AND c.memory_id = m.memory_id)

-- query: in_session
m.tier = 'session' AND m.session_id = {session_id} AND {live}

-- query: in_interaction
m.tier = 'interaction' AND m.session_id = {session_id} AND m.interaction_id = {interaction_id}

-- query: transient
-- Everything a session still holds, whatever became of it.
m.tier <> 'persistent' AND m.session_id = {session_id}

-- query: named
m.memory_id = ANY ({ids})

-- query: claimed
-- Persistent entries that speak about any of these claim keys.
m.tier = 'persistent' AND {live}
  AND (m.claim_subject, m.claim_attribute) IN (SELECT * FROM unnest({subjects}::text[], {attributes}::text[]))

-- query: live
m.archived_at IS NULL AND m.superseded_at IS NULL AND m.invalidated_at IS NULL AND m.deleted_at IS NULL

-- query: lineage
SELECT l.memory_id, l.source_id, l.relation, l.origin, l.trust, l.observed_at, l.session_id,
       l.interaction_id, {provenance}
FROM {lineage} l WHERE {scope_l} AND l.memory_id = ANY ({ids}) ORDER BY l.source_id

-- query: corroborations
SELECT c.memory_id, c.corroboration_id, c.source_type, c.source_ref, c.corroborated_at,
       c.corroborated_by, c.origin, c.session_id, c.notes, c.withdrawn_at, {provenance}
FROM {corroborations} c WHERE {scope_c} AND c.memory_id = ANY ({ids}) ORDER BY c.corroboration_id

-- query: failures
-- The sources that failed to corroborate an entry since one last did, or a decision about the
-- entry was taken back; one about a contradiction says nothing of its support.
SELECT l.memory_id, l.detail ->> 'source_type', l.detail ->> 'source_ref'
FROM {ledger} l WHERE {scope_l} AND l.memory_id = ANY ({ids}) AND l.transition = 'corroboration_failed'
  AND l.position > coalesce((SELECT max(k.position) FROM {ledger} k
      WHERE {scope_k} AND k.memory_id = l.memory_id AND (
          k.transition = 'undone' AND k.detail -> 'contradiction' IS NULL
          OR k.transition = 'corroborated' AND k.decision <> 'NOOP'
             AND k.detail ->> 'source_type' <> 'agent_inference')), 0)

-- query: links
-- The links of one decision: they share its receipt and stand together.
SELECT l.position, l.at, l.transition, l.memory_id, l.actor_kind, l.actor, l.decision, l.reason,
       l.state_from, l.state_to, l.detail, l.receipt_id, l.prev_hash, l.hash
FROM {ledger} l WHERE {scope_l} AND l.position BETWEEN {first} AND {last}
  AND l.receipt_id = (SELECT k.receipt_id FROM {ledger} k WHERE {scope_k} AND k.position = {position})
ORDER BY l.position

-- query: near_exact
-- The nearest live entries of one cell to each of some vectors, compared one by one.
WITH mine AS MATERIALIZED (
    SELECT e.memory_id, e.embedding FROM {embeddings} e JOIN {memory} m
        ON {scope_m} AND m.memory_id = e.memory_id
    WHERE {scope_e} AND e.profile_id = {profile} AND e.tier = {tier} AND e.typology = {typology} AND {live}
)
SELECT q.n, found.memory_id, found.similarity
FROM (VALUES {vectors}) AS q (n, v) CROSS JOIN LATERAL (
    SELECT e.memory_id, -(e.embedding OPERATOR({vector_schema}.<#>) q.v) AS similarity FROM mine e
    ORDER BY e.embedding OPERATOR({vector_schema}.<#>) q.v LIMIT {most}) found

-- query: near_indexed
-- The same in a large anchor, through the cell's HNSW index, walked until enough are found.
SELECT q.n, found.memory_id, found.similarity
FROM (VALUES {vectors}) AS q (n, v) CROSS JOIN LATERAL (
    SELECT e.memory_id, -(e.embedding OPERATOR({vector_schema}.<#>) q.v) AS similarity FROM {embeddings} e
    WHERE {scope_e} AND e.profile_id = {profile} AND e.tier = {tier} AND e.typology = {typology}
      AND (e.memory_id IN (SELECT m.memory_id FROM {memory} m
                           WHERE {scope_m} AND m.tier = {tier} AND m.typology = {typology} AND {live})) IS TRUE
    ORDER BY e.embedding OPERATOR({vector_schema}.<#>) q.v LIMIT {most}) found

-- query: near_settings
-- Leave the planner no other plan than the vector index.
SET LOCAL enable_sort = off; SET LOCAL enable_seqscan = off; SET LOCAL hnsw.iterative_scan = strict_order

-- query: after_near
SET LOCAL enable_sort = on; SET LOCAL enable_seqscan = on

-- query: alike
-- Persistent entries whose words are nearly those of each text.
SELECT q.n, found.memory_id, found.similarity
FROM (VALUES {texts}) AS q (n, body) CROSS JOIN LATERAL {alike}({arguments}, q.body) found

-- query: persistent_vectors
SELECT count(*) FROM (SELECT FROM {embeddings} e
    WHERE {scope_e} AND e.profile_id = {profile} AND e.tier = 'persistent' LIMIT {most}) found

-- query: settle
SELECT w.r_position, w.r_at, w.r_receipt, w.r_decision, w.r_reason, w.r_memory, w.r_detail
FROM {settle}({arguments}, {moment}, {kind}, {name}, {version}, {steps}) w

-- query: replay
SELECT l.position, l.at, l.receipt_id, l.decision, l.reason, l.memory_id, l.detail
FROM {replay}({arguments}, {key}, decode({digest}, 'hex')) l

-- query: remember
INSERT INTO {receipts} ({anchor}, idempotency_key, request_digest, position)
VALUES ({arguments}, {key}, decode({digest}, 'hex'), {position})

-- query: closing
-- Told to the triggers that let the rows of a closing scope go. A literal, so that Citus passes it on.
SET LOCAL idetic.closing = {session}

-- query: contradictions
-- The operators' queue of one noun, oldest first, or what stands about one entry.
SELECT c.contradiction_id, c.memory_id, c.{canonical_id}, c.observed_at, c.observed_by, c.status,
       c.resolution_notes, c.resolved_at, c.resolved_by
FROM {contradictions} c
WHERE {scope_c} AND ({row_id}::uuid IS NULL OR c.contradiction_id = {row_id})
  AND ({entry_id}::uuid IS NULL OR c.memory_id = {entry_id})
  AND ({ref_id}::uuid IS NULL OR c.{canonical_id} = {ref_id})
  AND ({status}::idetic.contradiction_status[] IS NULL OR c.status = ANY ({status}::idetic.contradiction_status[]))
ORDER BY c.observed_at, c.contradiction_id LIMIT {limit}

-- query: resolution
-- How one contradiction stands, and what stood before.
SELECT c.{canonical_id}, c.status, c.resolved_at, c.previous_status, c.previous_at
FROM {contradictions} c WHERE {scope_c} AND c.contradiction_id = {row_id}

-- query: due
-- The disposition queue: what time or missing support puts before somebody, hardest pressed first.
SELECT found.cause, found.pressure, found.due_at, {columns}
FROM {memory} m CROSS JOIN LATERAL (
    SELECT {cause} AS cause, {pressure} AS pressure, {due} AS due_at) found
WHERE {scope_m} AND m.tier = 'persistent' AND {live} AND m.exempt_at IS NULL
  AND found.due_at <= {moment}
ORDER BY found.pressure DESC, m.memory_id LIMIT {limit}

-- query: due_unmarked
-- Entries that fell due and whose history does not say so yet.
SELECT m.memory_id FROM {memory} m
WHERE {scope_m} AND m.tier = 'persistent' AND {live} AND m.exempt_at IS NULL
  AND {due} <= {moment}
  AND NOT EXISTS (SELECT FROM {ledger} l WHERE {scope_l} AND l.memory_id = m.memory_id
                  AND l.transition = 'disposition_due' AND l.at >= {due})
ORDER BY m.memory_id LIMIT {limit}

-- query: outdated
-- Entries whose pinned version of a canonical row is no longer the one that holds.
SELECT DISTINCT m.memory_id FROM {memory} m
JOIN {refs} r ON {scope_r} AND r.memory_id = m.memory_id
JOIN {canonical} c ON c.{tenant} = r.{tenant} AND c.{canonical_id} = r.{canonical_id}
WHERE {scope_m} AND m.tier = 'persistent' AND m.typology = ANY ({typologies}::idetic.typology[])
  AND {live} AND c.{version} > r.{pinned}
  AND ({ref_id}::uuid IS NULL OR r.{canonical_id} = {ref_id})
ORDER BY m.memory_id LIMIT {limit}

-- query: shadows
-- Entries that restate a canonical row as it reads now: the guard's own numbers, the other way round.
-- For one row, and where the guard is the primary defence, those that quote it as well.
SELECT m.memory_id, c.{canonical_id}, n.nearness
FROM {memory} m JOIN {canonical} c ON c.{tenant} = m.{tenant} {shadow_scope_m},
    LATERAL (SELECT greatest({trgm_schema}.similarity(c.{canonical_body}, m.body_text),
        CASE WHEN {primary} AND {ref_id}::uuid IS NOT NULL AND char_length(c.{canonical_body}) >= 100
             THEN {trgm_schema}.word_similarity(c.{canonical_body}, m.body_text) END) AS nearness) n
WHERE {scope_m} AND {live} AND char_length(m.body_text) >= 100
  AND ({ref_id}::uuid IS NULL OR c.{canonical_id} = {ref_id}) AND n.nearness > 0.85
ORDER BY m.memory_id LIMIT {limit}

-- query: changed_facts
-- Facts that were promoted, merged or restored since consolidation last looked, with the position
-- up to which this look goes.
SELECT a.position, m.memory_id FROM {anchors} a
LEFT JOIN {memory} m ON {scope_m} AND m.tier = 'persistent' AND m.typology = 'semantic'
    AND NOT m.candidate AND {live} AND EXISTS (
        SELECT FROM {ledger} l WHERE {scope_l} AND l.memory_id = m.memory_id
          AND l.transition IN ('promoted', 'merged', 'undone')
          AND l.position > coalesce((SELECT k.position FROM {marks} k
                                     WHERE {scope_k} AND k.kind = {kind}), 0))
WHERE {scope_a} ORDER BY m.memory_id LIMIT {limit}

-- query: judged
SELECT l.memory_id, array(SELECT jsonb_array_elements_text(l.detail -> 'with'))
FROM {ledger} l WHERE {scope_l} AND l.memory_id = ANY ({ids}) AND l.transition = 'judged'

-- query: references
-- The canonical rows of one noun that an entry refers to, joined as they read now.
SELECT v.{canonical_id}, {seen_pinned}, {seen_version}, {seen_text}, {seen_strength}, v.referenced_at
FROM {v_canonical} v WHERE {scope_v} AND v.memory_id = {entry_id}
ORDER BY v.referenced_at, v.{canonical_id}

-- query: candidates
SELECT m.memory_id FROM {memory} m
WHERE {scope_m} AND m.tier = 'persistent' AND m.candidate AND {live}
  AND ({after}::uuid IS NULL OR m.memory_id > {after})
ORDER BY m.memory_id LIMIT {limit}
