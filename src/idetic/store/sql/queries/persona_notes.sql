-- Operational notes: the one channel from the Subconscious to the Actor.

-- query: notes
-- What the Subconscious told the Actor, newest first.
SELECT n.note_id, n.ts, n.body FROM {notes} n WHERE {scope n}
ORDER BY n.note_id DESC LIMIT %(limit)s

-- query: put_note
INSERT INTO {notes} (tenant, agent_id, note_id, ts, body)
VALUES (%(tenant)s, %(agent_id)s, %(note_id)s, %(ts)s, %(body)s)

-- query: said
-- All that the Subconscious said or kept, in pages: what a note is compared with.
SELECT l.position, l.content, m.summary FROM {log} l
LEFT JOIN {ltm} m ON {scope m} AND m.event_id = l.event_id
WHERE {scope l} AND l.position > %(after)s ORDER BY l.position LIMIT %(limit)s

-- query: said_of_loops
SELECT s.summary FROM {stm} s WHERE {scope s}

-- query: erase_notes
SELECT e FROM {erase_notes}(%(tenant)s, %(agent_id)s, %(ids)s::uuid[]) e

-- query: note_texts
SELECT n.note_id, n.body FROM {notes} n WHERE {scope n}
