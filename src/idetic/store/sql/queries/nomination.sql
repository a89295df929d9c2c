-- What an anchor says about a question: its words, what lies near, what was written last. All of these go
-- in one round trip and read one moment; `nomination.py` makes candidates of them, `fusion.py` scores
-- those, and one statement reads the best (recall.sql).

-- query: facts
-- The question's words, those of them that look like names, and the profile recalls use now.
SELECT {terms}, (SELECT tsvector_to_array(to_tsvector('pg_catalog.english', %(named)s::text))), {active}

-- query: terms
(SELECT tsvector_to_array(to_tsvector('pg_catalog.english', %(text)s::text)))

-- query: active
-- The profile that this tenant's recalls use now.
(SELECT p.profile_id FROM {family}_memory_profiles p WHERE {of_tenant p} ORDER BY p.activation_id DESC LIMIT 1)

-- query: at_hand
-- Of a log's mirror: the profile of the model that asks.
%(profile)s::uuid

-- query: as_of
-- The state of an entry at a moment, from the ledger.
CROSS JOIN LATERAL (
    SELECT l.state_to FROM {family}_memory_ledger l
    WHERE {scope l} AND l.memory_id = m.memory_id AND l.at <= %(moment)s::timestamptz AND l.state_to IS NOT NULL
    ORDER BY l.position DESC LIMIT 1) AS past

-- query: standing
-- Which segments the word index has now; and whether the chain is there that this process read itself.
SELECT (SELECT string_agg(uuid_send(s.segment_id), '' ORDER BY s.through)
        FROM {family}_memory_segments s WHERE {scope s}),
       %(reached)s::bigint = 0 OR EXISTS (
           SELECT FROM {family}_memory_ledger l WHERE {scope l} AND l.position = %(reached)s::bigint)

-- query: segments
-- What the word index covers; what this process has kept of a segment does not travel again.
SELECT s.segment_id, s.through, CASE WHEN s.segment_id <> ALL (%(kept)s::uuid[]) THEN s.ids END,
       CASE WHEN s.segment_id <> ALL (%(kept)s::uuid[]) THEN s.members END,
       CASE WHEN s.segment_id <> ALL (%(kept)s::uuid[]) THEN s.times END,
       CASE WHEN s.segment_id <> ALL (%(kept)s::uuid[]) THEN s.speakers END,
       CASE WHEN s.segment_id <> ALL (%(kept)s::uuid[]) THEN s.places END
FROM {family}_memory_segments s WHERE {scope s} ORDER BY s.through

-- query: words
-- The postings of the question's words that this process does not keep. Equality is leakproof: the
-- index is used under RLS.
SELECT w.lexeme, w.segment_id, w.postings FROM {family}_memory_words w
WHERE {scope w} AND w.lexeme = ANY (ARRAY(
    SELECT t.lexeme FROM unnest({terms}::text[]) AS t (lexeme) WHERE t.lexeme <> ALL (string_to_array(%(kept_words)s::text, chr(31)))))
  AND w.segment_id = ANY (ARRAY(SELECT s.segment_id FROM {family}_memory_segments s WHERE {scope s}))

-- query: block
-- Entries that no segment holds, in the form of one: first a row with all of them, then a row for
-- each word of the question. The words get a weight of their own, so that the rest can be filtered
-- out before anything is unfolded. `told` are the ids of the tail, up to one more than its bound.
WITH {tail} read AS MATERIALIZED (
    SELECT m.memory_id, m.place, m.words, m.times, m.speaker, row_number() OVER ordered - 1 AS ord,
           m.packed + (lag(m.place) OVER ordered IS DISTINCT FROM m.place)::integer AS member
    FROM (SELECT m.memory_id, {place m} AS place, {words} AS words, {packed} AS packed,
                 {times} AS times, {speaker} AS speaker
          FROM {family}_memory m {as_of_join} WHERE {scope m} AND {visible} {of_tail} OFFSET 0) m
    WINDOW ordered AS (ORDER BY m.place, m.memory_id)
)
SELECT NULL AS lexeme, string_agg(uuid_send(r.memory_id), '' ORDER BY r.ord) AS ids,
       string_agg(int4send(r.member), '' ORDER BY r.ord) AS members, {told} AS told,
       string_agg(r.times, '' ORDER BY r.ord) AS times,
       string_agg(r.speaker, chr(31) ORDER BY r.ord) AS speakers,
       string_agg(uuid_send(r.place), '' ORDER BY r.ord) FILTER (WHERE r.member & 1 = 1) AS places
FROM read r
UNION ALL
SELECT w.lexeme, string_agg(int4send((w.ord * 256 + least(cardinality(w.positions), 255))::integer), ''),
       NULL, NULL, NULL, NULL, NULL
FROM (SELECT r.ord, (unnest(r.words)).* FROM read r WHERE length(r.words) > 0) w
GROUP BY w.lexeme

-- query: words_of
ts_filter(setweight(m.lexemes, 'A', {terms}), '{"a"}')

-- query: all_words
m.lexemes

-- query: no_words
''::tsvector

-- query: told
-- Entries that the chain tells of where no segment covers it: new ones, changed ones, and those of
-- a segment that is gone.
told AS MATERIALIZED (
    SELECT DISTINCT l.memory_id FROM (
        SELECT coalesce(lag(s.through) OVER (ORDER BY s.through), 0) AS after, s.after AS through
        FROM {family}_memory_segments s WHERE {scope s}
        UNION ALL
        SELECT greatest(coalesce(max(s.through), 0), %(reached)s::bigint), 9223372036854775807
        FROM {family}_memory_segments s WHERE {scope s}) g
    CROSS JOIN LATERAL (
        SELECT l.memory_id FROM {family}_memory_ledger l
        WHERE {scope l} AND l.position > g.after AND l.position <= g.through AND l.memory_id IS NOT NULL
        ORDER BY l.position LIMIT {most_tail} + 1) l
    WHERE g.through > g.after
    LIMIT {most_tail} + 1
)

-- query: beside
-- The entries before the first of each place of the tail, which lend it their words.
beside AS MATERIALIZED (
    SELECT b.memory_id FROM (
        SELECT DISTINCT ON (1) {place m} AS place, m.memory_id AS first FROM {family}_memory m
        WHERE {scope m} AND m.memory_id = ANY (ARRAY(SELECT t.memory_id FROM told t)) AND {visible}
        ORDER BY 1, 2) p
    CROSS JOIN LATERAL (
        SELECT m.memory_id FROM {family}_memory m
        WHERE {scope m} AND {place m} = ANY (ARRAY[p.place]) AND m.memory_id < p.first AND {visible}
        ORDER BY {place m} DESC, m.memory_id DESC LIMIT {before}) b
)

-- query: of_tail
AND m.memory_id = ANY (ARRAY(SELECT t.memory_id FROM told t UNION SELECT b.memory_id FROM beside b))

-- query: told_ids
(SELECT string_agg(uuid_send(t.memory_id), '') FROM told t)

-- query: since
-- How far the chain has come, and whose entries it has told of since a position, up to one more than
-- the bound of a tail.
SELECT (SELECT coalesce(max(l.position), 0) FROM {family}_memory_ledger l WHERE {scope l}),
       (SELECT string_agg(uuid_send(t.memory_id), '') FROM (
           SELECT DISTINCT l.memory_id FROM {family}_memory_ledger l
           WHERE {scope l} AND l.position > %(reached)s::bigint AND l.memory_id IS NOT NULL
           LIMIT {most_tail} + 1) t)

-- query: of_stretch
-- The entries whose first link stands in a stretch of the chain. An earlier one is looked up: as an
-- anti-join, tables that nobody has analysed yet are compared row by row.
AND m.memory_id = ANY (ARRAY(
    SELECT l.memory_id FROM {family}_memory_ledger l
    WHERE {scope l} AND l.position > %(after)s::bigint AND l.position <= %(through)s::bigint
      AND l.memory_id IS NOT NULL AND (
        SELECT true FROM {family}_memory_ledger f
        WHERE {scope f} AND f.memory_id = l.memory_id AND f.position <= %(after)s::bigint LIMIT 1) IS NULL))

-- query: allowed
-- The entries that a narrowed question may find.
SELECT string_agg(uuid_send(m.memory_id), '') FROM {family}_memory m WHERE {scope m} AND {visible}

-- query: compared
-- The distance of every vector of the scope, so that nothing is missed.
SELECT string_agg(uuid_send(e.memory_id), ''), string_agg(float8send(e.distance), '')
FROM (SELECT e.memory_id, e.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec AS distance
      FROM {family}_memory_embeddings e
      WHERE {scope e} AND e.profile_id = %(profile)s::uuid AND {active} = %(profile)s::uuid OFFSET 0) e

-- query: walked
-- The nearest of a large cell, through its partial HNSW index. Each vector's entry is looked up by
-- its key as a filter on that scan, which goes on until there are enough; a join would sort all
-- vectors, and a set of the visible ones would have to be made first.
SELECT string_agg(uuid_send(e.memory_id), ''), string_agg(float8send(e.distance), '')
FROM (SELECT e.memory_id, e.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec AS distance
      FROM {family}_memory_embeddings e
      WHERE {scope e} AND e.profile_id = %(profile)s::uuid AND e.tier = '{tier}' AND e.typology = '{typology}'
        AND {active} = %(profile)s::uuid
        AND (SELECT true FROM {family}_memory m WHERE {scope m} AND m.memory_id = e.memory_id AND {visible})
      ORDER BY e.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec LIMIT {pool}) e

-- query: rest
-- The distances of what is not walked, all of them.
{told} SELECT string_agg(uuid_send(e.memory_id), ''), string_agg(float8send(e.distance), '')
FROM (SELECT e.memory_id, e.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec AS distance
      FROM {family}_memory_embeddings e
      WHERE {scope e} AND e.profile_id = %(profile)s::uuid AND {active} = %(profile)s::uuid
        AND e.memory_id = ANY ({among}) OFFSET 0) e

-- query: among_small
-- The small cells of a large anchor, and the tail. Who is in them is known of the index: to look for
-- them among ten thousand entries took as long as all the rest.
%(small)s::uuid[] || ARRAY(SELECT t.memory_id FROM told t)

-- query: among_tail
ARRAY(SELECT t.memory_id FROM told t)

-- query: among_allowed
ARRAY(SELECT m.memory_id FROM {family}_memory m WHERE {scope m} AND {visible})

-- query: sample
-- The vectors of some entries that were drawn by chance.
SELECT string_agg(uuid_send(e.memory_id), ''), string_agg({vector}.halfvec_send(e.embedding), '')
FROM {family}_memory_embeddings e
WHERE {scope e} AND e.profile_id = %(profile)s::uuid AND {active} = %(profile)s::uuid
  AND e.memory_id = ANY (%(sampled)s::uuid[])

-- query: enveloped
-- How much of the envelope asked for each entry matches, of those that match any of it.
SELECT string_agg(uuid_send(m.memory_id), ''), string_agg(float8send(m.matched), '')
FROM (SELECT m.memory_id, {envelope} AS matched FROM {family}_memory m {as_of_join}
      WHERE {scope m} AND {visible} OFFSET 0) m
WHERE m.matched > 0

-- query: vectors
-- The vectors of some entries, as they are kept.
SELECT string_agg(uuid_send(e.memory_id), ''), string_agg({vector}.halfvec_send(e.embedding), '')
FROM {family}_memory_embeddings e
WHERE {scope e} AND e.profile_id = %(profile)s::uuid AND {active} = %(profile)s::uuid
  AND e.memory_id = ANY (%(unread)s::uuid[])

-- query: measured
-- The distances of candidates that a walk did not meet.
SELECT string_agg(uuid_send(e.memory_id), ''), string_agg(float8send(e.distance), '')
FROM (SELECT e.memory_id, e.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec AS distance
      FROM {family}_memory_embeddings e
      WHERE {scope e} AND e.profile_id = %(profile)s::uuid AND e.memory_id = ANY (%(unmeasured)s::uuid[])
      OFFSET 0) e
