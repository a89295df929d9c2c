-- Operational notes: the one channel from the Subconscious to the Actor.

-- query: notes
-- What the Subconscious told the Actor, newest first.
SELECT n.note_id, n.ts, n.body FROM {notes} n WHERE {scope_n}
ORDER BY n.note_id DESC LIMIT {limit}

-- query: put_note
INSERT INTO {notes} (tenant, agent_id, note_id, ts, body)
VALUES ({tenant}, {agent_id}, {note_id}, {ts}, {body})

-- query: said
-- All that the Subconscious said or kept, in pages: what a note is compared with.
SELECT l.position, l.content, m.summary FROM {log} l
LEFT JOIN {ltm} m ON {scope_m} AND m.event_id = l.event_id
WHERE {scope_l} AND l.position > {after} ORDER BY l.position LIMIT {limit}

-- query: said_of_loops
SELECT s.summary FROM {stm} s WHERE {scope_s}

-- query: erase_notes
SELECT e FROM {erase_notes}({tenant}, {agent_id}, {ids}) e

-- query: note_texts
SELECT n.note_id, n.body FROM {notes} n WHERE {scope_n}
