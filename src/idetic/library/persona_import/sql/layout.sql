-- A CHAOS layout in SQLite, as it is found: which tables and columns there are is asked first, so
-- names in braces are columns that exist, quoted. Read-only, within one transaction.

-- query: tables
SELECT name FROM sqlite_master WHERE type IN ('table', 'view')

-- query: columns
SELECT name FROM pragma_table_info(?)

-- query: rowid
-- Fails where there is none: in a view, or in a table WITHOUT ROWID.
SELECT rowid FROM {table} LIMIT 0

-- query: count
SELECT count(*) FROM {events} AS e WHERE {agent} IS coalesce(?, {agent})

-- query: events
-- Every event in the order in which it was written, with its long-term entries beside it: one, or
-- none, or more than there should be. The planner makes an index for the join if there is none.
SELECT {order}, {e_columns}, {l_columns} FROM {events} AS e {l_join}
WHERE {agent} IS coalesce(?, {agent}) ORDER BY {order}, {e_id}

-- query: loops
-- Every short-term entry, after what its rows of the map call it.
SELECT {s_ref}, {s_columns} FROM {stm} AS s

-- query: repeated
-- Ids of events that stand there more than once within a persona.
SELECT e.{id} FROM {events} AS e GROUP BY {agent}, {persona}, e.{id} HAVING count(*) > 1

-- query: ltm_repeated
SELECT l.{id} FROM {ltm} AS l GROUP BY l.{id} HAVING count(*) > 1

-- query: ltm_without_event
SELECT l.{id} FROM {ltm} AS l WHERE l.{event_id} IS NULL
    OR l.{event_id} NOT IN (SELECT e.{e_id} FROM {events} AS e WHERE e.{e_id} IS NOT NULL)

-- query: stm_without_event
SELECT s.{loop_id} FROM {stm} AS s WHERE s.{loop_id} IS NULL
    OR s.{loop_id} NOT IN (SELECT e.{e_loop} FROM {events} AS e WHERE e.{e_loop} IS NOT NULL)

-- query: map_without_ltm
SELECT m.{ltm_id} FROM {map} AS m WHERE m.{ltm_id} IS NULL
    OR m.{ltm_id} NOT IN (SELECT l.{l_id} FROM {ltm} AS l WHERE l.{l_id} IS NOT NULL)

-- query: map_without_stm
SELECT m.{m_ref} FROM {map} AS m WHERE m.{m_ref} IS NULL
    OR m.{m_ref} NOT IN (SELECT {s_ref} FROM {stm} AS s WHERE {s_ref} IS NOT NULL)

-- query: map_of_others
-- Short-term entries that rest on what is not the Actor's: what they say may say it, too.
SELECT DISTINCT m.{m_ref} FROM {map} AS m JOIN {ltm} AS l ON l.{l_id} = m.{ltm_id}
JOIN {events} AS e ON e.{e_id} = l.{l_event} WHERE lower(trim(e.{e_persona})) IS NOT 'actor'

-- query: map_in_another_order
-- Short-term entries that name their long-term entries in another order than their events came in.
SELECT DISTINCT ref FROM (
    SELECT m.{m_ref} AS ref, {order} AS place,
        lag({order}) OVER (PARTITION BY m.{m_ref} ORDER BY {m_order}) AS before
    FROM {map} AS m JOIN {ltm} AS l ON l.{l_id} = m.{ltm_id}
    JOIN {events} AS e ON e.{e_id} = l.{l_event}) WHERE place < before
