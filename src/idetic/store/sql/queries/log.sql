-- The log of one anchor, and what is derived from it.

-- query: record
SELECT r.r_position, r.r_hash, r.r_at, r.r_derived
FROM {family}_record_v1(%(tenant)s, %(anchor_id)s, %(moment)s, %(kind)s, %(name)s, %(version)s,
                        %(events)s::jsonb) r

-- query: event_columns
l.event_id, l.ts, l.loop_id, l.kind::text, l.visibility::text, l.content, l.metadata, l.position, l.hash

-- query: event
SELECT {columns} FROM {family}_log l WHERE {scope l} AND l.event_id = %(event_id)s

-- query: events
-- What is there already of an import.
SELECT {columns} FROM {family}_log l WHERE {scope l} AND l.event_id = ANY (%(ids)s::uuid[])

-- query: range
-- A span of time, from its start up to its end, which does not belong to it; `after` goes on where
-- the last page ended.
SELECT {columns} FROM {family}_log l
WHERE {scope l} AND l.ts >= %(start)s AND l.ts < %(until)s
  AND (l.ts, l.position) > (%(after_ts)s::timestamptz, %(after)s)
ORDER BY l.ts, l.position LIMIT %(limit)s

-- query: tail
-- In the order of commits: positions are given under a lock that is held to the commit.
SELECT {columns} FROM {family}_log l WHERE {scope l} AND l.position > %(after)s
ORDER BY l.position LIMIT %(limit)s

-- query: loop
SELECT {columns} FROM {family}_log l WHERE {scope l} AND l.loop_id = %(loop_id)s ORDER BY l.position

-- query: loops_between
-- The loops of which something was said in a span of time, and when each began and ended.
SELECT l.loop_id, min(l.ts), max(l.ts) FROM {family}_log l
WHERE {scope l} AND l.loop_id = ANY (ARRAY(
    SELECT x.loop_id FROM {family}_log x
    WHERE {scope x} AND x.ts > %(start)s AND x.ts < %(until)s))
GROUP BY l.loop_id ORDER BY l.loop_id

-- query: silent_loops
-- Loops without a short-term entry of which nothing was said since a moment, or something since
-- that entry was written.
SELECT g.loop_id FROM (
    SELECT l.loop_id, max(l.ts) AS last FROM {family}_log l WHERE {scope l} GROUP BY l.loop_id) g
LEFT JOIN {family}_memory w ON {scope w} AND w.loop_id = g.loop_id
    AND w.archived_at IS NULL AND w.deleted_at IS NULL
WHERE g.last <= %(before)s AND (w.memory_id IS NULL OR w.valid_at < g.last)
ORDER BY g.last

-- query: end
-- Where the log ends, by the anchor's own row.
SELECT a.log_position, a.log_hash FROM {family}_memory_anchors a WHERE {scope a} AND a.log_position > 0

-- query: chain
-- All that a link's hash is over, as texts: it is recomputed away from the database.
SELECT l.position, l.event_id::text, (extract(epoch FROM l.ts) * 1000000)::bigint, l.loop_id::text,
    l.kind::text, l.visibility::text, l.content, l.metadata::text, l.salt, l.content_hash,
    l.prev_hash, l.hash
FROM {family}_log l WHERE {scope l} AND l.position > %(after)s ORDER BY l.position LIMIT %(limit)s

-- query: erased
-- The events that the ledger says were erased.
SELECT jsonb_array_elements_text(l.detail #> '{removed,log}') FROM {family}_memory_ledger l
WHERE {scope l} AND l.transition = 'erasure' AND l.detail #> '{removed,log}' IS NOT NULL

-- query: mirrored
-- A long-term entry of an event, if it has one that was not replaced.
LEFT JOIN {family}_memory m ON {scope m} AND m.event_id = l.event_id AND m.archived_at IS NULL

-- query: underived
-- Events without a long-term entry, or with one that was made in another way than these. What was
-- erased stays so.
SELECT {columns} FROM {family}_log l {mirrored}
WHERE {scope l} AND l.position > %(after)s AND l.salt <> '' AND (m.memory_id IS NULL
    OR (m.provenance ->> 'derivation' <> ALL (%(derivations)s::text[]) AND m.deleted_at IS NULL))
ORDER BY l.position LIMIT %(limit)s

-- query: unreasoned
-- Events that are too long to be kept whole, whose entry was extracted and not thought about.
SELECT {columns} FROM {family}_log l {mirrored}
WHERE {scope l} AND l.position > %(after)s AND m.provenance ->> 'derivation' = %(derivation)s
  AND m.deleted_at IS NULL AND char_length(l.content) > %(longer_than)s
ORDER BY l.position LIMIT %(limit)s

-- query: emptied
-- Which of some events are empty.
SELECT l.event_id, l.salt = '' FROM {family}_log l
WHERE {scope l} AND l.event_id = ANY (%(ids)s::uuid[])

-- query: mirrors
-- The long-term entries of some events. By their ids and not by a join: until the tables are analysed,
-- the planner joins by comparing every entry with every event (2,000 of each: 720 ms).
SELECT m.event_id, m.memory_id, m.deleted_at IS NOT NULL, m.provenance ->> 'derivation',
    m.origin::text, m.trust
FROM {family}_memory m
WHERE {scope m} AND m.archived_at IS NULL AND m.event_id = ANY (%(ids)s::uuid[])

-- query: ltm_columns
-- An erased entry has nothing left but its event; what that was, the log still knows.
m.memory_id, l.event_id, l.loop_id, l.ts, l.kind::text, l.visibility::text,
CASE WHEN m.deleted_at IS NULL THEN m.body_text ELSE '[erased]' END, coalesce(m.importance, 0),
CASE WHEN m.embedding_id IS NOT NULL THEN 'embedded' WHEN m.embed_error IS NOT NULL THEN 'failed'
     ELSE 'pending' END,
m.embed_attempts + (m.embedding_id IS NOT NULL)::integer, m.embed_error

-- query: ltm
SELECT {columns} FROM {family}_memory m JOIN {family}_log l ON {scope l} AND l.event_id = m.event_id
    AND l.event_id = ANY (ARRAY(SELECT x.event_id FROM {family}_memory x
                                WHERE {scope x} AND x.memory_id = ANY (%(ids)s::uuid[])))
WHERE {scope m} AND m.memory_id = ANY (%(ids)s::uuid[])

-- query: ltm_of_event
SELECT {columns} FROM {family}_log l JOIN {family}_memory m
    ON {scope m} AND m.event_id = %(event_id)s AND m.archived_at IS NULL
WHERE {scope l} AND l.event_id = %(event_id)s

-- query: stm_of_loop
-- The short-term entry that a loop has now, and what it was made of.
SELECT m.memory_id, m.valid_at, m.body_text, ARRAY(
    SELECT s.source_id FROM {family}_memory_lineage s WHERE {scope s} AND s.memory_id = m.memory_id)
FROM {family}_memory m
WHERE {scope m} AND m.loop_id = %(loop_id)s AND m.archived_at IS NULL AND m.deleted_at IS NULL

-- query: summaries
-- What the last loops were about, newest first.
SELECT m.loop_id, m.body_text FROM {family}_memory m
WHERE {scope m} AND m.loop_id IS NOT NULL AND m.archived_at IS NULL AND m.deleted_at IS NULL
ORDER BY m.valid_at DESC, m.loop_id DESC LIMIT %(limit)s

-- query: window
-- The rolling window: the last loops, newest first, each with its events' entries in their order; of
-- some loops, where they are named.
WITH w AS MATERIALIZED (
    SELECT m.loop_id, m.valid_at, m.body_text FROM {family}_memory m
    WHERE {scope m} AND m.loop_id IS NOT NULL AND m.archived_at IS NULL AND m.deleted_at IS NULL
      AND (%(loops)s::uuid[] IS NULL OR m.loop_id = ANY (%(loops)s::uuid[]))
    ORDER BY m.valid_at DESC, m.loop_id DESC LIMIT %(limit)s
), said AS MATERIALIZED (
    SELECT l.loop_id, l.event_id, l.position, l.kind::text, l.visibility::text FROM {family}_log l
    WHERE {scope l} AND l.loop_id = ANY (ARRAY(SELECT w.loop_id FROM w))
), kept AS MATERIALIZED (
    SELECT m.memory_id, m.event_id FROM {family}_memory m
    WHERE {scope m} AND m.archived_at IS NULL AND m.event_id = ANY (ARRAY(SELECT said.event_id FROM said))
), e AS (
    SELECT said.loop_id, array_agg(kept.memory_id ORDER BY said.position) AS ltm_ids,
        array_agg(said.kind ORDER BY said.position) AS kinds,
        array_agg(said.visibility ORDER BY said.position) AS visibilities
    FROM said JOIN kept USING (event_id) GROUP BY said.loop_id
)
SELECT w.loop_id, w.valid_at, w.body_text, coalesce(e.ltm_ids, '{}'), coalesce(e.kinds, '{}'),
    coalesce(e.visibilities, '{}')
FROM w LEFT JOIN e USING (loop_id)
ORDER BY w.valid_at DESC, w.loop_id DESC

-- query: stray_loops
-- Loops without a short-term entry, or with one that was not made of their long-term entries, or that
-- the shipped compactor made because the derivation's own failed.
SELECT g.loop_id FROM (
    SELECT l.loop_id, min(l.position) AS first,
        coalesce(array_agg(m.memory_id ORDER BY m.memory_id) FILTER (WHERE m.memory_id IS NOT NULL),
            '{}') AS ltm_ids
    FROM {family}_log l {mirrored} WHERE {scope l} GROUP BY l.loop_id) g
LEFT JOIN {family}_memory w ON {scope w} AND w.loop_id = g.loop_id
    AND w.archived_at IS NULL AND w.deleted_at IS NULL
WHERE w.memory_id IS NULL OR w.provenance ->> 'derivation' LIKE '%%+instead' OR ARRAY(
    SELECT s.source_id FROM {family}_memory_lineage s WHERE {scope s} AND s.memory_id = w.memory_id
    ORDER BY s.source_id) <> g.ltm_ids
ORDER BY g.first

-- query: waiting
-- Long-term entries without a vector of a profile, by id; up to some.
SELECT m.memory_id FROM {family}_memory m
WHERE {scope m} AND m.event_id IS NOT NULL AND m.archived_at IS NULL AND m.deleted_at IS NULL
  AND NOT EXISTS (SELECT FROM {family}_memory_embeddings e WHERE {scope e}
                  AND e.memory_id = m.memory_id AND e.profile_id = %(profile)s::uuid)
ORDER BY m.memory_id LIMIT %(limit)s

-- query: coverage
-- How many there are of each, side by side: equal, if everything is derived. What was erased counts
-- as derived: it is covered for good.
SELECT
    (SELECT count(*) FROM {family}_log l WHERE {scope l}),
    (SELECT count(*) FROM {family}_log l {mirrored}
     WHERE {scope l} AND (m.memory_id IS NOT NULL OR l.salt = '')),
    (SELECT count(*) FROM {family}_log l {mirrored}
     WHERE {scope l} AND (l.salt = '' OR m.deleted_at IS NOT NULL OR EXISTS (
         SELECT FROM {family}_memory_embeddings e WHERE {scope e} AND e.memory_id = m.memory_id
           AND e.profile_id = %(profile)s::uuid))),
    (SELECT count(DISTINCT l.loop_id) FROM {family}_log l WHERE {scope l}),
    (SELECT count(*) FROM {family}_memory m WHERE {scope m} AND m.loop_id IS NOT NULL
     AND m.archived_at IS NULL AND m.deleted_at IS NULL)

-- query: notes
-- What the Subconscious told the Actor, newest first.
SELECT n.note_id, n.ts, n.body FROM {family}_notes n WHERE {scope n}
ORDER BY n.note_id DESC LIMIT %(limit)s

-- query: put_note
INSERT INTO {family}_notes ({tenant}, anchor_id, note_id, ts, body)
VALUES (%(tenant)s, %(anchor_id)s, %(note_id)s, %(ts)s, %(body)s)

-- query: said
-- All that a persona said or kept, in pages: what a note is compared with.
SELECT l.position, l.content, m.body_text FROM {family}_log l {mirrored}
WHERE {scope l} AND l.position > %(after)s ORDER BY l.position LIMIT %(limit)s

-- query: said_of_loops
SELECT m.body_text FROM {family}_memory m
WHERE {scope m} AND m.loop_id IS NOT NULL AND m.deleted_at IS NULL

-- query: origin
-- The same of an anchor's log: the ledger beside it says where both were moved from.
SELECT l.detail -> 'from', l.detail -> 'to' FROM {family}_memory_ledger l
WHERE {scope l} AND l.transition = 'anchor_imported' AND l.detail -> 'from' IS NOT NULL
ORDER BY l.position
