-- query: lock
-- One process at a time makes a model known. A lock and not ON CONFLICT, for which Citus asks more
-- rights on a reference table than the application has.
SELECT pg_advisory_xact_lock(hashtextextended(%(name)s::text || '@' || %(fingerprint)s::text, 0))

-- query: find
SELECT profile_id FROM idetic.embedding_profiles
WHERE name = %(name)s AND fingerprint = %(fingerprint)s

-- query: register
INSERT INTO idetic.embedding_profiles (profile_id, name, dimensions, fingerprint)
VALUES (%(profile_id)s, %(name)s, %(dimensions)s, %(fingerprint)s)

-- query: active
-- The profile that this tenant's recalls use now.
SELECT p.profile_id FROM {family}_memory_profiles p
WHERE {of_tenant p} ORDER BY p.activation_id DESC LIMIT 1

-- query: activate
INSERT INTO {family}_memory_profiles ({tenant}, activation_id, profile_id, activated_at, activated_by)
VALUES (%(tenant)s, %(activation_id)s, %(profile)s, %(at)s, %(by)s)

-- query: pending
-- Entries of this scope that have no vector in a profile, oldest first. Each is looked up: as an
-- anti-join, tables that nobody has analysed yet are compared row by row. One that failed as often as
-- it may is set aside.
SELECT m.memory_id, m.tier, m.typology, concat_ws(': ', m.envelope ->> 'speaker', m.body_text), m.embed_attempts {keys} FROM {family}_memory m
WHERE {scope m} AND m.deleted_at IS NULL AND m.archived_at IS NULL {embeddable} AND (
    SELECT true FROM {family}_memory_embeddings e
    WHERE {scope e} AND e.anchor_id = m.anchor_id AND e.memory_id = m.memory_id
      AND e.profile_id = %(profile)s AND e.piece = 0) IS NULL
  AND (%(session_id)s::uuid IS NULL OR m.session_id = %(session_id)s)
  AND (%(after)s::uuid IS NULL OR m.memory_id > %(after)s)
  AND (%(attempts)s::integer IS NULL OR m.embed_attempts < %(attempts)s)
ORDER BY m.memory_id LIMIT %(limit)s

-- query: count_pending
SELECT count(*) FROM {family}_memory m
WHERE {scope m} AND m.deleted_at IS NULL AND m.archived_at IS NULL {embeddable} AND NOT EXISTS (
    SELECT FROM {family}_memory_embeddings e
    WHERE {scope e} AND e.anchor_id = m.anchor_id AND e.memory_id = m.memory_id
      AND e.profile_id = %(profile)s)

-- query: store
-- Vectors of one profile. Twice is once: a killed run is simply run again.
INSERT INTO {family}_memory_embeddings ({tenant}, anchor_id, embedding_id, memory_id, profile_id,
    tier, typology, embedding, embedded_at, piece)
VALUES {rows}
ON CONFLICT ({tenant}, anchor_id, memory_id, profile_id, piece) DO NOTHING

-- query: store_row
(%(tenant)s, %(anchor_id_{n})s, %(embedding_id_{n})s, %(memory_id_{n})s, %(profile)s,
 %(tier_{n})s::idetic.tier, %(typology_{n})s::idetic.typology, %(vector_{n})s::{vector}.halfvec, %(at)s,
 %(piece_{n})s::smallint)

-- query: point
-- The memory rows point at their vectors of the profile in use.
UPDATE {family}_memory m SET embedding_id = e.embedding_id, embed_error = NULL FROM {family}_memory_embeddings e
WHERE {scope m} AND {scope e} AND e.memory_id = m.memory_id AND e.profile_id = %(profile)s AND e.piece = 0
  AND m.memory_id = ANY (%(ids)s::uuid[]) AND m.embedding_id IS DISTINCT FROM e.embedding_id

-- query: failed
-- Counted up to a bound: what is not an entry's own fault never sets it aside.
UPDATE {family}_memory m SET embed_error = %(error)s,
    embed_attempts = least(m.embed_attempts + 1, greatest(%(most)s::integer, m.embed_attempts))
WHERE {scope m} AND m.memory_id = ANY (%(ids)s::uuid[])

-- query: anchors
-- The anchors of a tenant that have memory.
SELECT {keys} FROM {family}_memory_anchors a WHERE {scope a} ORDER BY {keys}

-- query: read
SELECT {family}_read_v1(%(tenant)s, %(anchor_id)s, %(read)s, %(ids)s::uuid[], %(always)s::boolean,
    %(session_id)s::uuid, %(interaction_id)s::uuid, %(at)s::timestamptz, %(by)s::text)
