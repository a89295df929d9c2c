-- Asking one persona's long-term memory. The parts that score (BM25, the nominations, an entry's
-- words) are those of queries/recall.sql; what is different is what there is to find.

-- query: rag
-- One statement from question to hits, as in a recall: `base` is what may be found at all, vectors
-- and words score it, the best of each are candidates, every candidate gets every signal.
WITH base AS (
    {base}
){lexical}, scored AS MATERIALIZED (
    SELECT b.memory_id, b.substance, {distance} AS distance{words} FROM base b {joined}
), valued AS MATERIALIZED (
    SELECT m.memory_id, m.distance{values} FROM scored m WHERE {nominated}
), ranked AS (
    SELECT v.*{ranks} FROM valued v
), top AS MATERIALIZED (
    SELECT * FROM (SELECT r.*, ({fusion}) AS score FROM ranked r) f
    WHERE distance IS NOT NULL OR score > 0
    ORDER BY score DESC, distance, memory_id DESC LIMIT %(limit)s::integer
)
SELECT counts.considered, counts.candidates, counts.embedded, top.score, {outcomes}, {entry_columns}
FROM (SELECT count(*) AS considered, (SELECT count(*) FROM valued) AS candidates,
             CASE WHEN {small} THEN count(distance) ELSE count(*) END AS embedded FROM scored) counts
LEFT JOIN top ON true
LEFT JOIN {ltm} m ON {scope m} AND m.ltm_id = top.memory_id
                 AND m.ltm_id = ANY ((SELECT array_agg(memory_id) FROM top)::uuid[])
ORDER BY top.score DESC NULLS LAST, top.distance, m.ltm_id DESC

-- query: base
SELECT m.ltm_id AS memory_id, m.substance, m.loop_id, m.position, {read}
FROM {ltm} m WHERE {scope m}{filters}

-- query: base_with_neighbours
-- Each entry's words together with those of its neighbours in the loop: in a conversation the words
-- of a question often stand one turn away from the statement that answers it.
SELECT m.memory_id, m.substance, sum(m.len) OVER w AS len, {around} AS words
FROM ({base} OFFSET 0) m
WINDOW w AS (PARTITION BY m.loop_id ORDER BY m.position
             ROWS BETWEEN {before} PRECEDING AND {after} FOLLOWING)

-- query: small
-- Whether there are few enough for exact comparison: at most as many as events.
(SELECT coalesce(max(h.position), 0) <= {exact_below} FROM {heads} h WHERE {scope h})

-- query: semantic
-- Few vectors are compared one by one, so that nothing is missed. Many come from their index,
-- which is walked until there are enough of this agent.
LEFT JOIN (
    SELECT v.ltm_id AS memory_id, v.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec AS distance
    FROM {vectors} v WHERE {scope v} AND v.profile_id = %(profile)s::uuid AND {small}
    UNION ALL
    (SELECT v.ltm_id, v.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec
     FROM {vectors} v WHERE {scope v} AND v.profile_id = %(profile)s::uuid AND NOT {small}
       AND (SELECT true FROM {ltm} m WHERE {scope m} AND m.ltm_id = v.ltm_id{filters})
     ORDER BY v.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec LIMIT {pool})
) sem USING (memory_id)
