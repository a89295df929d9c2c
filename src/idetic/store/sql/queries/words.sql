-- The upkeep of the word index; sql/family/words.sql has the tables and the functions.

-- query: segments
-- The segments in the order of the chain, and which of them have to be made anew: the chain has told
-- of an entry of theirs since.
SELECT s.after, s.through, EXISTS (
    SELECT FROM (
        SELECT l.memory_id, max(l.position) AS last FROM {family}_memory_ledger l
        WHERE {scope l} AND l.position > %(reached)s::bigint AND l.memory_id IS NOT NULL
        GROUP BY l.memory_id) t
    WHERE t.last > s.position AND (
        SELECT min(f.position) FROM {family}_memory_ledger f
        WHERE {scope f} AND f.memory_id = t.memory_id) BETWEEN s.after + 1 AND s.through)
FROM {family}_memory_segments s WHERE {scope s} ORDER BY s.through

-- query: index
SELECT {family}_index_v1(%(tenant)s, %(anchor_id)s, %(after)s::bigint, %(through)s::bigint, %(position)s::bigint)

-- query: check
-- The segments whose words are not those of their entries now.
SELECT s.segment_id FROM {family}_memory_segments s
WHERE {scope s} AND EXISTS (
    SELECT FROM (SELECT w.lexeme, w.postings FROM {family}_memory_words w
                 WHERE {scope w} AND w.segment_id = s.segment_id) kept
    FULL JOIN {family}_postings_v1(%(tenant)s, %(anchor_id)s, s.after, s.through) made USING (lexeme)
    WHERE kept.postings IS DISTINCT FROM made.postings)
ORDER BY s.through
