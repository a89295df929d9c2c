-- query: recall
-- One statement from query to hits. `base` is what may be recalled at all; `sem` and `lex` score
-- it; what one signal ranks among its best is a candidate; every candidate gets every weighted
-- signal's value and rank; the fused best come back as entries. A thousand rows pass through the
-- first half, so it reads only what the weighted signals need and copies nothing that is read once.
WITH facts AS MATERIALIZED (
    SELECT {active} AS profile_id, {small} AS small
){chosen}, base AS (
    {base}
){lexical}, scored AS MATERIALIZED (
    SELECT {kept} FROM base b {joined}
){spread}, valued AS MATERIALIZED (
    SELECT m.memory_id, m.tier, m.distance{values} FROM scored m WHERE {nominated}
), ranked AS (
    SELECT v.*{ranks} FROM valued v
), fused AS (
    SELECT r.*, {reach} AS reach, {fusion} AS alone FROM ranked r
), top AS MATERIALIZED (
    -- A compared vector is reason enough to be found, however far off it is: whoever asks for k
    -- gets k where k exist, and the distance says how little they may mean.
    SELECT * FROM (SELECT p.*, p.reach * (p.alone{nearby_adds}) AS score FROM {placed} p) s
    WHERE reach > 0 AND (distance IS NOT NULL OR score > 0)
    ORDER BY score DESC, distance, memory_id DESC LIMIT %(limit)s::integer
)
SELECT {whole}, counts.considered, counts.candidates, counts.embedded, counts.profile_id, {rarity}, {grounds},
       top.score, {outcomes}, -top.distance, {piece}, {strength}, {hit_grounds}, {columns}
FROM (SELECT {considered} AS considered, (SELECT count(*) FROM valued) AS candidates,
             {embedded} AS embedded, (SELECT profile_id FROM facts) AS profile_id
      FROM scored) counts
LEFT JOIN top ON true
LEFT JOIN {family}_memory m ON {scope m} AND m.memory_id = top.memory_id
                    AND m.memory_id = ANY ((SELECT array_agg(memory_id) FROM top)::uuid[])
ORDER BY top.score DESC NULLS LAST, top.distance, m.memory_id DESC

-- query: base
SELECT m.memory_id, m.tier{read} FROM {family}_memory m {as_of_join} WHERE {scope m} AND {visible}

-- query: as_of
-- The state of an entry at a moment, from the ledger.
CROSS JOIN LATERAL (
    SELECT l.state_to FROM {family}_memory_ledger l
    WHERE {scope l} AND l.memory_id = m.memory_id AND l.at <= %(moment)s::timestamptz AND l.state_to IS NOT NULL
    ORDER BY l.position DESC LIMIT 1) AS past

-- query: semantic
-- An entry's distance is that of its nearest piece.
SELECT e.memory_id, min(e.distance) AS distance FROM ({vectors}) e GROUP BY e.memory_id

-- query: semantic_exact
-- Every vector of the scope, compared exactly, so that nothing is missed.
SELECT e.memory_id, e.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec AS distance
FROM {family}_memory_embeddings e
WHERE {scope e} AND e.profile_id = %(profile)s::uuid AND (SELECT profile_id = %(profile)s::uuid AND small FROM facts)

-- query: semantic_indexed
-- One cell of a large anchor through its partial HNSW index. Each vector's entry is looked up by
-- its key as a filter on that scan, which goes on until there are enough; a join would sort all
-- vectors, and a set of the visible ones would have to be made first.
(SELECT e.memory_id, e.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec AS distance
 FROM {family}_memory_embeddings e
 WHERE {scope e} AND e.profile_id = %(profile)s::uuid AND e.tier = {tier} AND e.typology = {typology}
   AND (SELECT profile_id = %(profile)s::uuid AND NOT small FROM facts)
   AND (SELECT true FROM {family}_memory m {as_of_join}
        WHERE {scope m} AND m.memory_id = e.memory_id AND {visible})
 ORDER BY e.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec LIMIT {pool})

-- query: spread
-- How near the nearest is, and how near an entry of this anchor is by chance: half of them are
-- nearer. Of a large anchor only a pool is compared, whose end stands in for the middle. At least
-- 0.1 lies between the two, and 0.3 among a handful of entries, which say little about chance.
, spread AS MATERIALIZED (
    SELECT min(distance) AS best, greatest(
           min(distance) + CASE WHEN count(distance) < 20 THEN 0.3 ELSE 0.1 END,
           CASE WHEN (SELECT small FROM facts) OR count(distance) = count(*)
                THEN percentile_cont(0.5) WITHIN GROUP (ORDER BY distance)
                ELSE 2 * max(distance) - min(distance) END) AS middle
    FROM scored
)

-- query: value_semantic
-- From 0 for what is as near as half of this anchor to 1 for the nearest. Fixed bounds do not carry
-- over: unrelated texts have a cosine of 0.4 in one anchor and of 0.6 in another.
CASE WHEN m.distance IS NOT NULL THEN greatest(0, ((SELECT middle FROM spread) - m.distance)
    / (SELECT middle - best FROM spread)) END

-- query: value_lexical
-- The share of the best score. A vector knows most of what a long entry says: there words count less.
m.words / (SELECT max(score) FROM lex) * (SELECT 0.36 + 0.64 * brevity FROM totals)

-- query: value_statement
-- 0 for a short question, which rarely answers another one, and for a single word ("hello"). Only of
-- few words is the text read.
CASE WHEN length(m.lexemes) >= {short_question} THEN 1
     ELSE (m.body_text !~ '[?]\s*$' AND m.body_text ~ '\S\s+\S')::integer END::float8

-- query: value_speaker
-- Whether the question names whoever said it.
coalesce(string_to_array(lower(m.envelope ->> 'speaker'), ' ') && %(names)s::text[], false)::integer::float8

-- query: value_time
-- How well an entry's own time fits the dates in the question; what is said soon after counts too.
(SELECT max(w.sure * CASE
        WHEN m.valid_at >= w.until THEN 0.7 * exp(date_part('epoch', w.until - m.valid_at) / 604800)
        WHEN m.valid_at < w.since THEN 0.5 * exp(date_part('epoch', m.valid_at - w.since) / 172800)
        ELSE 1 END)
 FROM unnest(%(time_since)s::timestamptz[], %(time_until)s::timestamptz[], %(time_sure)s::float8[])
     AS w (since, until, sure))

-- query: nearby
-- What was said right before or after a strong hit, in the same scope, gains by it.
(SELECT f.*, coalesce(CASE WHEN lag(f.turn) OVER w = f.turn - 1 THEN lag(f.alone) OVER w END, 0)
           + coalesce(CASE WHEN lead(f.turn) OVER w = f.turn + 1 THEN lead(f.alone) OVER w END, 0) AS nearby
 FROM fused f WINDOW w AS (PARTITION BY f.place ORDER BY f.turn))

-- query: nearby_adds
{weight} * (SELECT brevity FROM totals) * {row}.nearby

-- query: rarity
-- How rare each of the question's words is in this anchor.
(SELECT jsonb_object_agg(i.lexeme, i.idf) FROM idf i)

-- query: grounds
-- What a question's relevance is judged by: its words, those that look like names, and the nearest.
{terms}, (SELECT tsvector_to_array(to_tsvector('pg_catalog.english', %(named)s::text))), {covered}, {nearest}

-- query: piece
-- Which piece of a long entry the question met.
(SELECT e.piece FROM {family}_memory_embeddings e
 WHERE {scope e} AND e.memory_id = top.memory_id AND e.profile_id = %(profile)s::uuid
   AND e.memory_id = ANY ((SELECT array_agg(memory_id) FROM top)::uuid[])
 ORDER BY e.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec LIMIT 1)

-- query: words
-- An entry's length and the query's words in it: they get a weight of their own, so that the rest
-- can be filtered out before anything is unfolded.
length(m.lexemes) AS len, ts_filter(setweight(m.lexemes, 'A', {terms}), '{"a"}') AS words

-- query: terms
(SELECT tsvector_to_array(to_tsvector('pg_catalog.english', %(text)s::text)))

-- query: place
-- An entry's neighbours are those of the same interaction or session.
{place m} AS place

-- query: base_with_neighbours
-- Each entry's place in its scope, and the length of its text with its neighbours', unless it is long
-- enough to speak for itself. OFFSET keeps the inner select by itself: the query's words are looked
-- for once in an entry, and are not sorted by.
SELECT {columns}, m.words, m.place, m.len AS own, row_number() OVER ordered AS turn,
       CASE WHEN m.len < {long_entry} AND sum(m.len) OVER around > m.len
            THEN m.len + sum(m.len) OVER around ELSE m.len END AS len
FROM ({base} OFFSET 0) m
WINDOW ordered AS (PARTITION BY m.place ORDER BY m.memory_id),
       around AS (ordered ROWS BETWEEN {before} PRECEDING AND {after} FOLLOWING)

-- query: hits
SELECT memory_id, len::float8 AS len, (word).lexeme, cardinality((word).positions)::float8 AS tf
FROM (SELECT memory_id, len, unnest(words) AS word FROM base WHERE length(words) > 0) unfolded

-- query: hits_with_neighbours
-- A word counts for the entry that has it and for that entry's neighbours, for itself twice: of
-- entries in one window those come first that say it themselves. Few entries have a word of the
-- question, so this costs less than a window over the words of all.
SELECT b.memory_id, b.len::float8 AS len, h.lexeme,
       sum(h.tf * CASE WHEN h.step = 0 AND b.len > b.own THEN 2 ELSE 1 END) AS tf
FROM (SELECT place, turn, (word).lexeme, cardinality((word).positions)::float8 AS tf,
             generate_series(-{after}, {before}) AS step
      FROM (SELECT place, turn, unnest(words) AS word FROM base WHERE length(words) > 0) unfolded) h
JOIN base b ON b.place = h.place AND b.turn = h.turn + h.step AND (h.step = 0 OR b.own < {long_entry})
GROUP BY b.memory_id, b.len, h.lexeme

-- query: lexical
-- BM25 (k1 1.2, b 0.75) with this scope's statistics.
, totals AS MATERIALIZED (
    SELECT t.entries, 0.9 / greatest(t.len::float8 / nullif(t.entries, 0), 1) AS norm,
           least(1, {brief_entry} / greatest(t.own::float8 / nullif(t.entries, 0), 1)) AS brevity
    FROM ({sums}) t
), hits AS MATERIALIZED (
    {hits}
), idf AS (
    SELECT w.lexeme, ln(1 + ((SELECT entries FROM totals) - w.entries + 0.5::float8) / (w.entries + 0.5::float8)) AS idf
    FROM ({frequencies}) w
), lex AS MATERIALIZED (
    SELECT h.memory_id, sum(i.idf) AS covered,
           sum(i.idf * h.tf * 2.2 / (h.tf + 0.3 + h.len * (SELECT norm FROM totals))) AS score
    FROM hits h JOIN idf i USING (lexeme)
    GROUP BY h.memory_id
)

-- query: sums
SELECT count(*) AS entries, sum(len) AS len, sum({own}) AS own FROM base

-- query: frequencies
SELECT lexeme, count(*) AS entries FROM hits GROUP BY lexeme

-- query: embedded
-- Beyond the exact comparison only a pool of vectors is seen, so the rest is not counted.
CASE WHEN (SELECT small FROM facts) THEN count(distance) ELSE count(*) END

-- query: nominate_semantic
m.distance <= coalesce((SELECT distance FROM scored WHERE distance IS NOT NULL
                        ORDER BY distance OFFSET {pool} - 1 LIMIT 1), 'infinity')

-- query: nominate_lexical
m.words >= coalesce((SELECT score FROM lex ORDER BY score DESC OFFSET {pool} - 1 LIMIT 1), 0)

-- query: nominate_envelope
m.envelope > 0 AND m.envelope >= coalesce(
    (SELECT envelope FROM scored ORDER BY envelope DESC OFFSET {pool} - 1 LIMIT 1), 0)

-- query: nominate_time
-- What lies within the dates asked for, unless that is more than a pool of entries.
m.time >= 1 AND (SELECT count(*) FROM scored WHERE time >= 1) <= {pool}

-- query: nominate_decay
-- The newest.
m.memory_id >= coalesce((SELECT memory_id FROM scored ORDER BY memory_id DESC OFFSET {pool} - 1 LIMIT 1),
                        '00000000-0000-0000-0000-000000000000')

-- query: small
-- Whether the anchor is small enough for exact comparison. Its chain is at least as long as it
-- has entries, and its length is at hand.
(SELECT coalesce(max(a.position), 0) <= {exact_below} FROM {family}_memory_anchors a WHERE {scope a})

-- query: active
-- The profile that this tenant's recalls use now.
(SELECT p.profile_id FROM {family}_memory_profiles p WHERE {of_tenant p} ORDER BY p.activation_id DESC LIMIT 1)

-- query: at_hand
-- Of a log's mirror: the profile of the model that asks.
%(profile)s::uuid

-- query: strength
-- The strongest source an entry refers to, resolved now and never copied.
SELECT min(c.{canonical_strength}::text::idetic.source_strength) FROM {family}_memory_{noun}_refs r
JOIN {canonical} c ON c.{tenant} = r.{tenant} AND c.{canonical_id} = r.{canonical_id}
WHERE {scope r} AND r.memory_id = m.memory_id

-- query: chosen
-- This and what follows take the place of parts above where indexes have nominated, so that nothing
-- else is read. What a score depends on beyond these entries was kept in the word index.
-- What words nominated comes as places in segments; one that was made anew meanwhile has no places.
, picked AS MATERIALIZED (
    SELECT encode(substring(s.ids FROM p.ord * 16 + 1 FOR 16), 'hex')::uuid AS memory_id
    FROM unnest(%(segments)s::uuid[], %(places)s::integer[]) AS p (segment_id, ord)
    JOIN {family}_memory_segments s ON {scope s} AND s.segment_id = p.segment_id
), wanted AS MATERIALIZED (
    SELECT %(ids)s::uuid[] || %(tail)s::uuid[] || ARRAY(SELECT memory_id FROM picked) AS ids
){neighbours}

-- query: base_chosen
SELECT m.memory_id, m.tier{read} FROM {family}_memory m
WHERE {scope m} AND m.memory_id = ANY ((SELECT ids FROM wanted)::uuid[]) AND {visible}

-- query: neighbours
-- The nominated entries with their neighbours at their place, nearest first; and what both say.
, placed AS MATERIALIZED (
    SELECT c.*, {beside_before} AS before, {beside_after} AS after FROM ({base}) c
), said AS MATERIALIZED (
    SELECT m.memory_id, {words} FROM {family}_memory m
    WHERE {scope m} AND m.memory_id = ANY (ARRAY(
        SELECT unnest(p.memory_id || p.before || p.after) FROM placed p))
), around AS MATERIALIZED (
    SELECT p.memory_id, s.len, s.words, s.memory_id = p.memory_id AS itself
    FROM (SELECT p.memory_id, unnest(p.memory_id || p.before[:{before}] || p.after[:{after}]) AS near FROM placed p) p
    JOIN said s ON s.memory_id = p.near
)

-- query: beside
-- Found by the index of places, in its order. A plain equality would let the planner forget the first
-- column of that order and walk the primary key, past the entries of all other places.
ARRAY(SELECT m.memory_id FROM {family}_memory m
      WHERE {scope m} AND {place m} = ANY (ARRAY[c.place])
        AND m.memory_id {side} c.memory_id AND {visible}
      ORDER BY {place m} {order}, m.memory_id {order} LIMIT {most})

-- query: base_placed
SELECT {columns}, p.before[1] AS previous, p.after[1] AS next, a.own,
       CASE WHEN a.own < {long_entry} AND a.len > a.own THEN a.own + a.len ELSE a.own END AS len
FROM placed p
JOIN (SELECT memory_id, sum(len) AS len, sum(len) FILTER (WHERE itself) AS own
      FROM around GROUP BY memory_id) a USING (memory_id)

-- query: hits_placed
SELECT b.memory_id, b.len::float8 AS len, (h.word).lexeme,
       sum(cardinality((h.word).positions)::float8 * CASE WHEN h.itself AND b.len > b.own THEN 2 ELSE 1 END) AS tf
FROM (SELECT memory_id, itself, unnest(words) AS word FROM around WHERE length(words) > 0) h
JOIN base b USING (memory_id)
WHERE h.itself OR b.own < {long_entry}
GROUP BY b.memory_id, b.len, (h.word).lexeme

-- query: sums_kept
SELECT %(entries)s::bigint + count(*) AS entries, %(length)s::bigint + coalesce(sum(len), 0) AS len,
       %(own)s::bigint + coalesce(sum({own}), 0) AS own
FROM base WHERE memory_id = ANY (%(tail)s::uuid[])

-- query: frequencies_kept
SELECT lexeme, coalesce(k.entries, 0) + coalesce(t.entries, 0) AS entries
FROM unnest(%(lexemes)s::text[], %(frequencies)s::bigint[]) AS k (lexeme, entries)
FULL JOIN (SELECT lexeme, count(*) AS entries FROM hits
           WHERE memory_id = ANY (%(tail)s::uuid[]) GROUP BY lexeme) t USING (lexeme)

-- query: semantic_chosen
SELECT e.memory_id, e.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec AS distance
FROM {family}_memory_embeddings e
WHERE {scope e} AND e.profile_id = %(profile)s::uuid AND e.memory_id = ANY ((SELECT ids FROM wanted)::uuid[])
  AND (SELECT profile_id = %(profile)s::uuid FROM facts)

-- query: spread_sampled
-- Half of the anchor by half of a sample of it.
, spread AS MATERIALIZED (
    SELECT s.best, greatest(s.best + 0.1, s.middle) AS middle
    FROM (SELECT (SELECT min(distance) FROM scored) AS best,
                 percentile_cont(0.5) WITHIN GROUP (ORDER BY e.distance) AS middle
          FROM (SELECT min(e.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec) AS distance
                FROM {family}_memory_embeddings e
                WHERE {scope e} AND e.profile_id = %(profile)s::uuid AND e.memory_id = ANY (ARRAY(
                    SELECT unnest(s.sample[:%(sampled)s::integer]) FROM {family}_memory_segments s WHERE {scope s}))
                GROUP BY e.memory_id) e) s
)

-- query: nearby_placed
(SELECT f.*, coalesce(b.alone, 0) + coalesce(a.alone, 0) AS nearby
 FROM fused f LEFT JOIN fused b ON b.memory_id = f.previous LEFT JOIN fused a ON a.memory_id = f.next)

-- query: considered_kept
%(entries)s::bigint + count(*) FILTER (WHERE memory_id = ANY (%(tail)s::uuid[]))

-- query: whole
(SELECT count(*) FROM picked) = cardinality(%(places)s::integer[])
