-- What is derived from one persona's log: long-term entries, vectors, short-term entries.

-- query: derive
SELECT {derive}(%(tenant)s, %(agent_id)s, %(items)s)

-- query: underived
-- Events without a long-term entry, or with one that was made in another way than these. What was
-- erased stays so.
SELECT {columns} FROM {log} l LEFT JOIN {ltm} m ON {scope m} AND m.event_id = l.event_id
WHERE {scope l} AND l.position > %(after)s
  AND (m.ltm_id IS NULL OR (m.derivation <> ALL (%(derivations)s::text[]) AND m.summary <> '[erased]'))
ORDER BY l.position LIMIT %(limit)s

-- query: unreasoned
-- Events that are too long to be kept whole, whose entry was extracted and not thought about.
SELECT {columns} FROM {log} l JOIN {ltm} m ON {scope m} AND m.event_id = l.event_id
WHERE {scope l} AND l.position > %(after)s AND m.derivation = %(derivation)s
  AND char_length(l.content) > %(longer_than)s
ORDER BY l.position LIMIT %(limit)s

-- query: waiting
-- Entries without a vector of this profile, and those that say something else than when they got
-- theirs.
SELECT m.ltm_id, m.summary, m.position FROM {ltm} m
WHERE {scope m} AND m.position > %(after)s AND (m.status <> 'embedded' OR NOT EXISTS (
    SELECT FROM {vectors} v WHERE {scope v} AND v.profile_id = %(profile)s AND v.ltm_id = m.ltm_id))
ORDER BY m.position LIMIT %(limit)s

-- query: waiting_in_loop
-- The same for a loop that ends: found by its index, whatever else waits.
SELECT m.ltm_id, m.summary, m.position FROM {ltm} m
WHERE {scope m} AND m.loop_id = %(loop_id)s AND m.position > %(after)s AND m.status <> 'embedded'
ORDER BY m.position LIMIT %(limit)s

-- query: store_vectors
INSERT INTO {vectors} (tenant, agent_id, ltm_id, profile_id, embedding) VALUES {rows}
ON CONFLICT (tenant, agent_id, profile_id, ltm_id) DO UPDATE SET embedding = EXCLUDED.embedding

-- query: settle
-- What became of an attempt to embed.
UPDATE {ltm} m SET status = %(status)s, attempts = m.attempts + 1, last_error = %(error)s
WHERE {scope m} AND m.ltm_id = ANY (%(ids)s::uuid[])

-- query: entry
SELECT {entry_columns} FROM {ltm} m WHERE {scope m} AND m.ltm_id = %(ltm_id)s

-- query: of_event
SELECT {entry_columns} FROM {ltm} m WHERE {scope m} AND m.event_id = %(event_id)s

-- query: loop_entries
-- A loop's events with the long-term entry of each, in order.
SELECT m.ltm_id, {columns} FROM {log} l LEFT JOIN {ltm} m ON {scope m} AND m.event_id = l.event_id
WHERE {scope l} AND l.loop_id = %(loop_id)s ORDER BY l.position

-- query: put_stm
-- A loop's one entry; writing the same again changes nothing.
INSERT INTO {stm} AS s (tenant, agent_id, loop_id, ts, summary, ltm_ids, kinds, visibilities)
VALUES (%(tenant)s, %(agent_id)s, %(loop_id)s, %(ts)s, %(summary)s, %(ltm_ids)s::uuid[],
        %(kinds)s::idetic.event_kind[], %(visibilities)s::idetic.event_visibility[])
ON CONFLICT (tenant, agent_id, loop_id) DO UPDATE
    SET ts = EXCLUDED.ts, summary = EXCLUDED.summary, ltm_ids = EXCLUDED.ltm_ids,
        kinds = EXCLUDED.kinds, visibilities = EXCLUDED.visibilities
    WHERE (s.ts, s.summary, s.ltm_ids, s.kinds, s.visibilities)
        IS DISTINCT FROM (EXCLUDED.ts, EXCLUDED.summary, EXCLUDED.ltm_ids, EXCLUDED.kinds,
                          EXCLUDED.visibilities)

-- query: window
-- The rolling window: the last loops, newest first.
SELECT s.loop_id, s.ts, s.summary, s.ltm_ids, s.kinds::text[], s.visibilities::text[] FROM {stm} s
WHERE {scope s} ORDER BY s.ts DESC, s.loop_id DESC LIMIT %(limit)s

-- query: stray_loops
-- Loops without a short-term entry, or with one that does not name their long-term entries.
SELECT g.loop_id FROM (
    SELECT l.loop_id, min(l.position) AS first,
        coalesce(array_agg(m.ltm_id ORDER BY l.position) FILTER (WHERE m.ltm_id IS NOT NULL), '{}')
            AS ltm_ids
    FROM {log} l LEFT JOIN {ltm} m ON {scope m} AND m.event_id = l.event_id
    WHERE {scope l} GROUP BY l.loop_id) g
LEFT JOIN {stm} s ON {scope s} AND s.loop_id = g.loop_id
WHERE s.ltm_ids IS DISTINCT FROM g.ltm_ids
ORDER BY g.first

-- query: coverage
-- How many there are of each, side by side: equal, if everything is derived.
SELECT
    (SELECT count(*) FROM {log} l WHERE {scope l}),
    (SELECT count(*) FROM {ltm} m WHERE {scope m}),
    (SELECT count(*) FROM {vectors} v WHERE {scope v} AND v.profile_id = %(profile)s::uuid),
    (SELECT count(DISTINCT l.loop_id) FROM {log} l WHERE {scope l}),
    (SELECT count(*) FROM {stm} s WHERE {scope s})
