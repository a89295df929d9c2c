-- query: features
-- What the signals read off each candidate (`nomination.py`), and the distances that the nomination
-- did not bring: of an entry in several pieces, that of its nearest. Packed: as numbers in a row each,
-- writing and reading them took longer than looking them up.
SELECT string_agg(uuid_send(f.memory_id), ''), string_agg(float8send(f.tier), ''){packed}
FROM (SELECT m.memory_id, {tier} AS tier, {distance} AS distance, {asks}::integer::float8 AS asks{values}
      FROM {family}_memory m {as_of_join} {measured}
      WHERE {scope m} AND m.memory_id = ANY (%(ids)s::uuid[]) AND {visible}) f

-- query: measured
LEFT JOIN (
    SELECT e.memory_id, min(e.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec) AS distance
    FROM {family}_memory_embeddings e
    WHERE {scope e} AND e.profile_id = %(profile)s::uuid AND e.memory_id = ANY (%(unmeasured)s::uuid[])
    GROUP BY e.memory_id) sem USING (memory_id)

-- query: asks
-- Whether it is a question. Only of few words is the text read.
CASE WHEN length(m.lexemes) < {long_entry} THEN right(rtrim(m.body_text, E' \n\t'), 1) = '?' ELSE false END

-- query: value_statement
-- How much it states: little in a few words ("hello"), less in a question, and no more in many words
-- than in some. A claim states all there is to say.
CASE WHEN m.claim_attribute IS NOT NULL THEN 1
     ELSE greatest(0, ln(1 + least(length(m.lexemes), {full_entry})) / ln(1 + {full_entry}) - 0.25 * ({asks})::integer)
     END::float8

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

-- query: value_dated
-- Asked when, an entry that names a time may tell; a long one names some time or other.
(0.5 * least(1, 15.0 / greatest(length(m.lexemes), 1)) * (m.lexemes @@ {times}::tsquery)::integer)::float8

-- query: entries
-- The best of them as entries.
SELECT m.memory_id, {piece}, {strength}, length(m.lexemes), {columns} FROM {family}_memory m {as_of_join}
WHERE {scope m} AND m.memory_id = ANY (%(top)s::uuid[]) AND {visible}

-- query: piece
-- Which piece of a long entry the question met.
(SELECT e.piece FROM {family}_memory_embeddings e
 WHERE {scope e} AND e.memory_id = m.memory_id AND e.profile_id = %(profile)s::uuid
   AND e.memory_id = ANY (%(top)s::uuid[])
 ORDER BY e.embedding OPERATOR({vector}.<#>) %(vector)s::{vector}.halfvec LIMIT 1)

-- query: strength
-- The strongest source an entry refers to, resolved now and never copied.
SELECT min(c.{canonical_strength}::text::idetic.source_strength) FROM {family}_memory_{noun}_refs r
JOIN {canonical} c ON c.{tenant} = r.{tenant} AND c.{canonical_id} = r.{canonical_id}
WHERE {scope r} AND r.memory_id = m.memory_id

-- query: before
-- What was said right before some entries, in the same place: what a short one often answers.
SELECT t.memory_id, b.said FROM (
    SELECT m.memory_id, {place m} AS place FROM {family}_memory m
    WHERE {scope m} AND m.memory_id = ANY (%(short)s::uuid[])) t
CROSS JOIN LATERAL (
    SELECT coalesce(m.envelope ->> 'speaker' || ': ', '') || right(m.body_text, {context}) AS said
    FROM {family}_memory m {as_of_join}
    WHERE {scope m} AND {place m} = ANY (ARRAY[t.place]) AND m.memory_id < t.memory_id AND {visible}
    ORDER BY {place m} DESC, m.memory_id DESC LIMIT 1) b
