-- query: hold
-- Take the anchor and hold it to commit: what is read from here on is what will be written about.
SELECT h.position, nullif(h.at, '-infinity') FROM {family}_head_v1(%(tenant)s, %(anchor_id)s) h

-- query: scopes
-- A session with its interactions, or one interaction.
SELECT s.scope_id, s.tier, s.session_id, s.opened_at, s.opened_by, s.renewed_at, s.closed_at
FROM {family}_memory_scopes s WHERE {scope s} AND (s.scope_id = %(scope_id)s OR s.session_id = %(scope_id)s)
ORDER BY s.scope_id

-- query: renew
UPDATE {family}_memory_scopes s SET renewed_at = %(moment)s
WHERE {scope s} AND s.scope_id = ANY (%(ids)s::uuid[]) AND s.closed_at IS NULL RETURNING s.scope_id

-- query: silent
-- Open sessions in which nothing was opened, written, read or renewed since a moment.
SELECT s.scope_id FROM {family}_memory_scopes s
WHERE {scope s} AND s.tier = 'session' AND s.closed_at IS NULL AND s.opened_at < %(moment)s
  AND NOT EXISTS (SELECT FROM {family}_memory_scopes a WHERE {scope a} AND a.session_id = s.scope_id
                  AND greatest(a.opened_at, a.renewed_at) >= %(moment)s)
  AND NOT EXISTS (SELECT FROM {family}_memory m WHERE {scope m} AND m.session_id = s.scope_id
                  AND m.created_at >= %(moment)s)
  AND NOT EXISTS (SELECT FROM {family}_memory_reads r WHERE {scope r} AND r.session_id = s.scope_id
                  AND r.read_at >= %(moment)s)
  AND NOT EXISTS (SELECT FROM {family}_memory_reads r WHERE {scope r} AND r.session_id IS NULL
                  AND r.read_by = s.opened_by AND r.read_at >= %(moment)s)
ORDER BY s.opened_at LIMIT %(limit)s

-- query: silent_interactions
-- Open interactions of sessions that still live, silent themselves since a moment.
SELECT s.scope_id, s.session_id FROM {family}_memory_scopes s
WHERE {scope s} AND s.tier = 'interaction' AND s.closed_at IS NULL
  AND greatest(s.opened_at, s.renewed_at) < %(moment)s
  AND NOT EXISTS (SELECT FROM {family}_memory m WHERE {scope m} AND m.session_id = s.session_id
                  AND m.interaction_id = s.scope_id AND m.created_at >= %(moment)s)
  AND NOT EXISTS (SELECT FROM {family}_memory_reads r WHERE {scope r} AND r.session_id = s.session_id
                  AND r.interaction_id = s.scope_id AND r.read_at >= %(moment)s)
ORDER BY s.opened_at LIMIT %(limit)s

-- query: known
-- Entries as a pass sees them: with their vector in the tenant's profile, and whether something
-- rests on them. The vector is looked up for each entry and not joined: in tables that nobody has
-- analysed yet the planner would compare every entry with every vector of the anchor.
SELECT (SELECT v.embedding FROM {family}_memory_embeddings v
        WHERE {scope v} AND v.memory_id = m.memory_id AND v.piece = 0 AND v.profile_id = (
            SELECT p.profile_id FROM {family}_memory_profiles p WHERE {of_tenant p}
            ORDER BY p.activation_id DESC LIMIT 1))::text, {rests}, {built_on}, {columns}
FROM {family}_memory m
WHERE {scope m} AND {which}
ORDER BY m.memory_id

-- query: rests
EXISTS (SELECT FROM {family}_memory_actions a WHERE {scope a} AND a.memory_id = m.memory_id)

-- query: built_on
-- Something persistent was made of it, or was confirmed by it, and is still there.
EXISTS (SELECT FROM {family}_memory_lineage l JOIN {family}_memory d ON {scope d} AND d.memory_id = l.memory_id
        WHERE {scope l} AND l.source_id = m.memory_id AND d.tier = 'persistent' AND d.digest_salt IS NOT NULL)

-- query: contradicted
EXISTS (SELECT FROM {family}_{noun}_contradictions c WHERE {scope c} AND c.memory_id = m.memory_id)

-- query: in_session
m.tier = 'session' AND m.session_id = %(session_id)s AND {live m}

-- query: in_interaction
m.tier = 'interaction' AND m.session_id = %(session_id)s AND m.interaction_id = %(interaction_id)s

-- query: transient
-- Everything a session still holds, whatever became of it.
m.tier <> 'persistent' AND m.session_id = %(session_id)s

-- query: paged_in
m.core_at IS NOT NULL AND {live m}

-- query: named
m.memory_id = ANY (%(ids)s::uuid[])

-- query: claimed
-- Persistent entries that speak about any of these claim keys.
m.tier = 'persistent' AND {live m}
  AND (m.claim_subject, m.claim_attribute) IN (SELECT * FROM unnest(%(subjects)s::text[], %(attributes)s::text[]))

-- query: lineage
-- Who said it stands in the source itself, which stays as long as something was made of it. What was
-- made of others is a copy, and nobody's voice.
SELECT l.memory_id, l.source_id, l.relation, l.origin, l.trust, l.observed_at,
       CASE WHEN EXISTS (SELECT FROM {family}_memory_lineage k WHERE {scope k}
           AND k.memory_id = l.source_id AND k.relation <> 'recurred') THEN ''
           ELSE coalesce(s.created_by, '') END, l.session_id, l.interaction_id, l.provenance
FROM {family}_memory_lineage l
LEFT JOIN {family}_memory s ON {scope s} AND s.memory_id = l.source_id
WHERE {scope l} AND l.memory_id = ANY (%(ids)s::uuid[]) ORDER BY l.source_id

-- query: corroborations
SELECT c.memory_id, c.corroboration_id, c.source_type, c.source_ref, c.corroborated_at,
       c.corroborated_by, c.source_by, c.origin, c.session_id, c.notes, c.withdrawn_at, c.provenance
FROM {family}_memory_corroborations c WHERE {scope c} AND c.memory_id = ANY (%(ids)s::uuid[]) ORDER BY c.corroboration_id

-- query: failures
-- The sources that failed to corroborate an entry since one last did, or a decision about the
-- entry was taken back; one about a contradiction says nothing of its support.
SELECT l.memory_id, l.detail ->> 'source_type', l.detail ->> 'source_ref', l.detail ->> 'voice'
FROM {family}_memory_ledger l WHERE {scope l} AND l.memory_id = ANY (%(ids)s::uuid[]) AND l.transition = 'corroboration_failed'
  AND l.position > coalesce((SELECT max(k.position) FROM {family}_memory_ledger k
      WHERE {scope k} AND k.memory_id = l.memory_id AND (
          k.transition = 'undone' AND k.detail -> 'contradiction' IS NULL
          OR k.transition = 'corroborated' AND k.decision <> 'NOOP'
             AND k.detail ->> 'source_type' NOT IN ('agent_inference', 'cross_version_carry'))), 0)

-- query: links
-- The links of one decision: they share its receipt and stand together.
SELECT l.position, l.at, l.transition, l.memory_id, l.actor_kind, l.actor, l.decision, l.reason,
       l.state_from, l.state_to, l.detail, l.receipt_id, l.prev_hash, l.hash
FROM {family}_memory_ledger l WHERE {scope l} AND l.position BETWEEN %(first)s AND %(last)s
  AND l.receipt_id = (SELECT k.receipt_id FROM {family}_memory_ledger k WHERE {scope k} AND k.position = %(position)s)
ORDER BY l.position

-- query: near_exact
-- The nearest live entries of one cell to each of some vectors, compared one by one.
WITH mine AS MATERIALIZED (
    SELECT e.memory_id, e.embedding FROM {family}_memory_embeddings e JOIN {family}_memory m
        ON {scope m} AND m.memory_id = e.memory_id
    WHERE {scope e} AND e.profile_id = %(profile)s AND e.piece = 0 AND e.tier = {tier} AND e.typology = {typology} AND {live m}
)
SELECT q.n, found.memory_id, found.similarity
FROM (SELECT u.n, u.v::{vector}.halfvec AS v
      FROM unnest(%(numbers)s::integer[], %(vectors)s::text[]) AS u (n, v)) q CROSS JOIN LATERAL (
    SELECT e.memory_id, -(e.embedding OPERATOR({vector}.<#>) q.v) AS similarity FROM mine e
    ORDER BY e.embedding OPERATOR({vector}.<#>) q.v LIMIT %(most)s) found

-- query: near_indexed
-- The same in a large anchor, through the cell's HNSW index, walked until enough are found.
SELECT q.n, found.memory_id, found.similarity
FROM (SELECT u.n, u.v::{vector}.halfvec AS v
      FROM unnest(%(numbers)s::integer[], %(vectors)s::text[]) AS u (n, v)) q CROSS JOIN LATERAL (
    SELECT e.memory_id, -(e.embedding OPERATOR({vector}.<#>) q.v) AS similarity FROM {family}_memory_embeddings e
    WHERE {scope e} AND e.profile_id = %(profile)s AND e.piece = 0 AND e.tier = {tier} AND e.typology = {typology}
      AND (e.memory_id IN (SELECT m.memory_id FROM {family}_memory m
                           WHERE {scope m} AND m.tier = {tier} AND m.typology = {typology} AND {live m})) IS TRUE
    ORDER BY e.embedding OPERATOR({vector}.<#>) q.v LIMIT %(most)s) found

-- query: alike
-- Persistent entries whose words are nearly those of a text. One call a text: Citus hands a call on
-- to the tenant's node only where it stands alone.
SELECT found.memory_id, found.similarity
FROM {family}_alike_v1(%(tenant)s, %(anchor_id)s, %(text)s) found

-- query: same_words
-- Persistent entries that have the words of some texts, by the texts' places from 1.
SELECT found.number, found.memory_id
FROM {family}_worded_v1(%(tenant)s, %(anchor_id)s, %(texts)s::text[]) found

-- query: persistent_vectors
SELECT count(*) FROM (SELECT FROM {family}_memory_embeddings e
    WHERE {scope e} AND e.profile_id = %(profile)s AND e.tier = 'persistent' LIMIT %(most)s) found

-- query: settle
SELECT w.r_position, w.r_at, w.r_receipt, w.r_decision, w.r_reason, w.r_memory, w.r_detail
FROM {family}_settle_v1(%(tenant)s, %(anchor_id)s, %(moment)s, %(kind)s, %(name)s,
    %(version)s, %(steps)s) w

-- query: replay
SELECT l.position, l.at, l.receipt_id, l.decision, l.reason, l.memory_id, l.detail
FROM {family}_replay_v1(%(tenant)s, %(anchor_id)s, %(key)s, decode(%(digest)s, 'hex')) l

-- query: remember
INSERT INTO {family}_memory_receipts ({tenant}, anchor_id, idempotency_key, request_digest, position)
VALUES (%(tenant)s, %(anchor_id)s, %(key)s, decode(%(digest)s, 'hex'), %(position)s)

-- query: contradictions
-- The operators' queue of one noun, oldest first, or what stands about one entry.
SELECT c.contradiction_id, c.memory_id, c.{canonical_id}, c.observed_at, c.observed_by, c.status,
       c.resolution_notes, c.resolved_at, c.resolved_by
FROM {family}_{noun}_contradictions c
WHERE {scope c} AND (%(row_id)s::uuid IS NULL OR c.contradiction_id = %(row_id)s)
  AND (%(entry_id)s::uuid IS NULL OR c.memory_id = %(entry_id)s)
  AND (%(ref_id)s::uuid IS NULL OR c.{canonical_id} = %(ref_id)s)
  AND (%(status)s::idetic.contradiction_status[] IS NULL OR c.status = ANY (%(status)s::idetic.contradiction_status[]))
ORDER BY c.observed_at, c.contradiction_id LIMIT %(limit)s

-- query: resolution
-- How one contradiction stands, and what stood before.
SELECT c.{canonical_id}, c.status, c.resolved_at, c.previous_status, c.previous_at
FROM {family}_{noun}_contradictions c WHERE {scope c} AND c.contradiction_id = %(row_id)s

-- query: due
-- The disposition queue: what time or missing support puts before somebody, hardest pressed first.
SELECT found.cause, found.pressure, found.due_at, {columns}
FROM {family}_memory m CROSS JOIN LATERAL (
    SELECT {cause} AS cause, {pressure} AS pressure, {due} AS due_at) found
WHERE {scope m} AND m.tier = 'persistent' AND {live m} AND m.exempt_at IS NULL
  AND found.due_at <= %(moment)s
ORDER BY found.pressure DESC, m.memory_id LIMIT %(limit)s

-- query: due_unmarked
-- Entries that fell due and whose history does not say so yet.
SELECT m.memory_id FROM {family}_memory m
WHERE {scope m} AND m.tier = 'persistent' AND {live m} AND m.exempt_at IS NULL
  AND {due} <= %(moment)s
  AND NOT EXISTS (SELECT FROM {family}_memory_ledger l WHERE {scope l} AND l.memory_id = m.memory_id
                  AND l.transition = 'disposition_due' AND l.at >= {due})
ORDER BY m.memory_id LIMIT %(limit)s

-- query: outdated
-- Entries that refer to a canonical row of which another version holds than the one that was looked
-- at last: the one they meant, or a later one of which their history tells. With both texts.
SELECT m.memory_id, c.{canonical_id}, c.{canonical_version}, {text_then}, {text_now}
FROM {family}_memory m
JOIN {family}_memory_{noun}_refs r ON {scope r} AND r.memory_id = m.memory_id
JOIN {canonical} c ON c.{tenant} = r.{tenant} AND c.{canonical_id} = r.{canonical_id}
CROSS JOIN LATERAL (SELECT greatest(r.{noun}_version, (
    SELECT max((l.detail ->> 'version')::integer) FROM {family}_memory_ledger l
    WHERE {scope l} AND l.memory_id = m.memory_id
      AND l.transition IN ('canonical_changed', 'canonical_republished')
      AND (l.detail ->> 'id')::uuid = r.{canonical_id})) AS version) seen
WHERE {scope m} AND m.tier = 'persistent' AND m.typology = ANY (%(typologies)s::idetic.typology[])
  AND {live m} AND c.{canonical_version} > seen.version
  AND (%(ref_id)s::uuid IS NULL OR r.{canonical_id} = %(ref_id)s)
ORDER BY m.memory_id, c.{canonical_id} LIMIT %(limit)s

-- query: text_then
-- The text of the version that was looked at last.
(SELECT v.{canonical_body}::text FROM {canonical_versions} v WHERE v.{tenant} = r.{tenant}
 AND v.{canonical_id} = r.{canonical_id} AND v.{canonical_version} = seen.version)

-- query: versions_readable
-- Whether the texts of earlier versions may be read: the column is there, and so is the right.
SELECT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = to_regclass(%(table)s)
    AND a.attname = %(column)s AND NOT a.attisdropped
    AND has_column_privilege(a.attrelid, a.attnum, 'SELECT'))

-- query: shadows
-- Entries that restate a canonical row as it reads now: the guard's own numbers, the other way round.
-- For one row, and where the guard is the primary defence, those that quote it as well.
SELECT m.memory_id, c.{canonical_id}, n.nearness
FROM {family}_memory m JOIN {canonical} c ON c.{tenant} = m.{tenant} {narrowed},
    LATERAL (SELECT greatest({trgm}.similarity(c.{canonical_body}, m.body_text),
        CASE WHEN {primary} AND %(ref_id)s::uuid IS NOT NULL AND char_length(c.{canonical_body}) >= 100
             THEN {trgm}.word_similarity(c.{canonical_body}, m.body_text) END) AS nearness) n
WHERE {scope m} AND {live m} AND char_length(m.body_text) >= 100
  AND (%(ref_id)s::uuid IS NULL OR c.{canonical_id} = %(ref_id)s) AND n.nearness > 0.85
ORDER BY m.memory_id LIMIT %(limit)s

-- query: changed_facts
-- Facts that were promoted, merged or restored since consolidation last looked, with the position
-- up to which this look goes; where they are asked for, candidates since they were proposed.
SELECT a.position, m.memory_id FROM {family}_memory_anchors a
LEFT JOIN {family}_memory m ON {scope m} AND m.tier = 'persistent' AND m.typology = 'semantic'
    AND (%(candidates)s::boolean OR NOT m.candidate) AND {live m} AND EXISTS (
        SELECT FROM {family}_memory_ledger l WHERE {scope l} AND l.memory_id = m.memory_id
          AND (l.transition IN ('promoted', 'merged', 'undone')
               OR %(candidates)s::boolean AND l.transition = 'proposed')
          AND l.position > coalesce((SELECT k.position FROM {family}_memory_marks k
                                     WHERE {scope k} AND k.kind = %(kind)s::text), 0))
WHERE {scope a} ORDER BY m.memory_id LIMIT %(limit)s

-- query: judged
SELECT l.memory_id, array(SELECT jsonb_array_elements_text(l.detail -> 'with'))
FROM {family}_memory_ledger l WHERE {scope l} AND l.memory_id = ANY (%(ids)s::uuid[]) AND l.transition = 'judged'

-- query: references
-- The canonical rows of one noun that an entry refers to, joined as they read now.
SELECT v.{canonical_id}, {pinned}, {version}, {text}, {strength}, v.referenced_at
FROM {family}_memory_with_{noun} v WHERE {scope v} AND v.memory_id = %(entry_id)s
ORDER BY v.referenced_at, v.{canonical_id}

-- query: canonical_row
SELECT FROM {canonical} c WHERE {of_tenant c} AND c.{canonical_id} = %(ref_id)s

-- query: named_by_canonical
-- The values of a canonical column in this anchor: names of a deployment that a pattern must lose.
SELECT DISTINCT c.{column}::text FROM {family}_memory_anchors a
JOIN {canonical} c ON c.{tenant} = a.{tenant} {narrowed}
WHERE {scope a} AND c.{column} IS NOT NULL LIMIT %(limit)s

-- query: named_by_key
-- The values under one key of this anchor's envelopes or provenance; of a list each.
SELECT DISTINCT v.value FROM {family}_memory m, LATERAL (
    SELECT jsonb_array_elements_text(CASE jsonb_typeof(m.{column} -> %(key)s::text)
        WHEN 'array' THEN m.{column} -> %(key)s::text
        WHEN 'null' THEN '[]' ELSE jsonb_build_array(m.{column} -> %(key)s::text) END) AS value) v
WHERE {scope m} AND {live m} AND m.{column} -> %(key)s::text IS NOT NULL LIMIT %(limit)s

-- query: candidates
SELECT m.memory_id FROM {family}_memory m
WHERE {scope m} AND m.tier = 'persistent' AND m.candidate AND {live m}
  AND (%(after)s::uuid IS NULL OR m.memory_id > %(after)s)
ORDER BY m.memory_id LIMIT %(limit)s
