-- What the indexes of an anchor say about a question: each signal nominates its best, and one
-- statement scores them (recall.sql). All of these go in one round trip and read one moment.

-- query: segments
-- What the word index covers, and what it counts.
SELECT s.segment_id, s.entries, s.own, s.length FROM {family}_memory_segments s
WHERE {scope s} ORDER BY s.through

-- query: tail
-- Entries that the chain tells of where no segment covers it: new ones, changed ones, and those of
-- a segment that is gone.
SELECT DISTINCT l.memory_id FROM (
    SELECT coalesce(lag(s.through) OVER (ORDER BY s.through), 0) AS after, s.after AS through
    FROM {family}_memory_segments s WHERE {scope s}
    UNION ALL
    SELECT coalesce(max(s.through), 0), 9223372036854775807 FROM {family}_memory_segments s WHERE {scope s}) g
CROSS JOIN LATERAL (
    SELECT l.memory_id FROM {family}_memory_ledger l
    WHERE {scope l} AND l.position > g.after AND l.position <= g.through AND l.memory_id IS NOT NULL
    ORDER BY l.position LIMIT {most_tail} + 1) l
WHERE g.through > g.after AND EXISTS (SELECT FROM {family}_memory_segments s WHERE {scope s})
LIMIT {most_tail} + 1

-- query: words
-- The postings of the question's words. Equality is leakproof: the index is used under RLS.
SELECT w.segment_id, w.lexeme, w.postings FROM {family}_memory_words w
WHERE {scope w} AND w.lexeme = ANY ({terms}::text[])
  AND w.segment_id = ANY (ARRAY(SELECT s.segment_id FROM {family}_memory_segments s WHERE {scope s}))

-- query: meaning
-- The nearest of each cell: through HNSW, which walks past the vectors of others too, only where the
-- anchor has many of its own.
WITH facts AS MATERIALIZED (
    SELECT {active} AS profile_id, {counts} FROM {family}_memory_segments s WHERE {scope s}
)
{cells}

-- query: of_cell
coalesce(sum((s.cells ->> '{cell}')::bigint), 0) AS {cell}

-- query: walked
(SELECT profile_id = %(profile)s::uuid AND {cell} >= {walked_from} FROM facts)

-- query: compared
(SELECT profile_id = %(profile)s::uuid AND {cell} > 0 AND NOT coalesce({walked}, false) FROM facts)

-- query: nearest_walked
(SELECT e.memory_id FROM {family}_memory_embeddings e
 WHERE {scope e} AND e.profile_id = %(profile)s::uuid AND e.tier = '{tier}' AND e.typology = '{typology}' AND {walked}
   AND (SELECT true FROM {family}_memory m WHERE {scope m} AND m.memory_id = e.memory_id AND {visible})
 ORDER BY e.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec LIMIT {pool})

-- query: nearest_compared
(SELECT e.memory_id FROM {family}_memory_embeddings e
 WHERE {scope e} AND e.profile_id = %(profile)s::uuid AND e.memory_id = ANY (ARRAY(
     SELECT m.memory_id FROM {family}_memory m
     WHERE {scope m} AND m.tier = '{tier}' AND m.typology = '{typology}' AND {visible} AND {compared}))
 ORDER BY (e.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec)::float8 LIMIT {pool})

-- query: newest
SELECT m.memory_id FROM {family}_memory m WHERE {scope m} AND {visible}
ORDER BY m.memory_id DESC LIMIT {pool}

-- query: dated
-- What lies within the dates asked for; one more than a pool says that these are too many.
SELECT m.memory_id FROM unnest(%(time_since)s::timestamptz[], %(time_until)s::timestamptz[], %(time_sure)s::float8[])
    AS w (since, until, sure)
CROSS JOIN LATERAL (
    SELECT m.memory_id FROM {family}_memory m
    WHERE {scope m} AND m.valid_at >= w.since AND m.valid_at < w.until AND {visible}
    LIMIT {pool} + 1) m
WHERE w.sure >= 1
