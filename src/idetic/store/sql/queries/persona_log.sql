-- The perfect log of one persona. Every statement carries tenant and agent.

-- query: append
SELECT r_position, r_hash, r_at, r_derived FROM {append}(%(tenant)s, %(agent_id)s, %(events)s)

-- query: get
SELECT {columns} FROM {log} l WHERE {scope l} AND l.event_id = %(event_id)s

-- query: held
-- What is there already of an import.
SELECT {columns} FROM {log} l WHERE {scope l} AND l.event_id = ANY (%(ids)s::uuid[])

-- query: range
-- A span of time, from its start up to its end, which does not belong to it; `after` goes on where
-- the last page ended.
SELECT {columns} FROM {log} l
WHERE {scope l} AND l.ts >= %(start)s AND l.ts < %(until)s
  AND (l.ts, l.position) > (%(after_ts)s::timestamptz, %(after)s)
ORDER BY l.ts, l.position LIMIT %(limit)s

-- query: tail
-- In the order of commits: positions are given under a lock that is held to the commit.
SELECT {columns} FROM {log} l WHERE {scope l} AND l.position > %(after)s
ORDER BY l.position LIMIT %(limit)s

-- query: loop
SELECT {columns} FROM {log} l WHERE {scope l} AND l.loop_id = %(loop_id)s ORDER BY l.position

-- query: head
SELECT h.position, h.hash FROM {heads} h WHERE {scope h}

-- query: chain
-- All that a link's hash is over, as texts: it is recomputed away from the database.
SELECT l.position, l.event_id::text, (extract(epoch FROM l.ts) * 1000000)::bigint, l.loop_id::text,
    l.kind::text, l.visibility::text, l.content, l.metadata::text, l.salt, l.content_hash,
    l.prev_hash, l.hash
FROM {log} l WHERE {scope l} AND l.position > %(after)s ORDER BY l.position LIMIT %(limit)s

-- query: erase
SELECT r_table, r_ids FROM {erase}(%(tenant)s, %(agent_id)s, %(events)s::uuid[])

-- query: derived_texts
-- What each event says and what was made of it, in pages: where erasure looks.
SELECT l.position, l.event_id, l.content, l.metadata, m.summary FROM {log} l
LEFT JOIN {ltm} m ON {scope m} AND m.event_id = l.event_id
WHERE {scope l} AND l.position > %(after)s ORDER BY l.position LIMIT %(limit)s

-- query: loop_texts
SELECT s.loop_id, s.summary FROM {stm} s WHERE {scope s}
