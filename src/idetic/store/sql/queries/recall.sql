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
