-- query: register
-- A profile by its model; asking again gives the one that is there.
INSERT INTO idetic.embedding_profiles (profile_id, name, dimensions, fingerprint)
VALUES (%(profile_id)s, %(name)s, %(dimensions)s, %(fingerprint)s)
ON CONFLICT (name, fingerprint) DO NOTHING

-- query: find
SELECT profile_id FROM idetic.embedding_profiles
WHERE name = %(name)s AND fingerprint = %(fingerprint)s

-- query: active
-- The profile that this tenant's recalls use now.
SELECT p.profile_id FROM {profiles} p WHERE {scope_tenant_p} ORDER BY p.activation_id DESC LIMIT 1

-- query: activate
INSERT INTO {profiles} ({tenant}, activation_id, profile_id, activated_at, activated_by)
VALUES ({tenant_value}, {activation_id}, {profile}, {at}, {by})

-- query: pending
-- Entries of this scope that have no vector in a profile, oldest first. Each is looked up: as an
-- anti-join, tables that nobody has analysed yet are compared row by row.
SELECT {anchor_of_m}, m.memory_id, m.tier, m.typology, m.body_text FROM {memory} m
WHERE {scope_m} AND m.deleted_at IS NULL AND m.archived_at IS NULL AND (
    SELECT true FROM {embeddings} e
    WHERE {scope_e} AND e.memory_id = m.memory_id AND e.profile_id = {profile}) IS NULL
  AND ({session_id}::uuid IS NULL OR m.session_id = {session_id})
ORDER BY m.memory_id LIMIT {limit}

-- query: count_pending
SELECT count(*) FROM {memory} m
WHERE {scope_m} AND m.deleted_at IS NULL AND m.archived_at IS NULL AND NOT EXISTS (
    SELECT FROM {embeddings} e WHERE {scope_e} AND e.memory_id = m.memory_id AND e.profile_id = {profile})

-- query: store
-- Vectors of one profile. Twice is once: a killed run is simply run again.
INSERT INTO {embeddings} ({anchor}, embedding_id, memory_id, profile_id, tier, typology, embedding, embedded_at)
VALUES {rows}
ON CONFLICT ({anchor}, memory_id, profile_id) DO NOTHING

-- query: point
-- The memory rows point at their vectors of the profile in use.
UPDATE {memory} m SET embedding_id = e.embedding_id FROM {embeddings} e
WHERE {scope_m} AND {scope_e} AND e.memory_id = m.memory_id AND e.profile_id = {profile}
  AND m.memory_id = ANY ({ids}) AND m.embedding_id IS DISTINCT FROM e.embedding_id

-- query: anchors
-- The anchors of a tenant that have memory.
SELECT {anchor_of_a} FROM {anchors} a WHERE {scope_a} ORDER BY {anchor_of_a}

-- query: read
-- Read receipts of one context.
INSERT INTO {reads} ({anchor}, read_id, memory_id, session_id, interaction_id, read_at, read_by)
VALUES {rows}
