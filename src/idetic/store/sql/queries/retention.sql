-- query: register
-- Once per version and entity; a release that knows one entity more adds its row and no other.
INSERT INTO idetic.retention_policies (agent, version, entity, active_ttl_days,
    tombstone_grace_days, disposal, decay, decay_days, domain_owner, registered_at)
VALUES (%(agent)s, %(version)s, %(entity)s, %(active_ttl_days)s,
    %(tombstone_grace_days)s, %(disposal)s, %(decay)s, %(decay_days)s, %(domain_owner)s, %(at)s)
ON CONFLICT (agent, version, entity) DO NOTHING

-- query: disputed
-- A contradiction that nobody dismissed: it is before an operator, or became a revision signal.
EXISTS (SELECT FROM {family}_{noun}_contradictions c
        WHERE {scope c} AND c.memory_id = m.memory_id AND c.status <> 'dismissed')

-- query: kept_by
-- What keeps an entry from being tombstoned.
SELECT {acted}, {disputed} FROM {family}_memory m WHERE {scope m} AND m.memory_id = %(entry_id)s

-- query: expired
-- Entries that outlived their active TTL. What an action rests on stays, what is disputed waits,
-- and an exemption is somebody's decision that it stays.
SELECT m.memory_id FROM {family}_memory m
WHERE {scope m} AND m.tier = 'persistent' AND m.typology = %(typology)s AND m.deleted_at IS NULL
  AND m.exempt_at IS NULL AND m.created_at <= %(before)s AND NOT {acted} AND NOT {disputed}
ORDER BY m.memory_id LIMIT %(limit)s

-- query: unrepeated
-- Candidates that only waited to be said again: nothing has happened to them but that they fell due.
SELECT m.memory_id FROM {family}_memory m
JOIN {family}_memory_ledger p ON {scope p} AND p.memory_id = m.memory_id
    AND p.transition = 'proposed' AND p.detail ->> 'ground' = 'repetition'
WHERE {scope m} AND m.tier = 'persistent' AND m.candidate AND {live m}
  AND m.exempt_at IS NULL AND m.created_at <= %(before)s AND NOT {acted} AND NOT {disputed}
  AND NOT EXISTS (SELECT FROM {family}_memory_ledger l WHERE {scope l} AND l.memory_id = m.memory_id
                  AND l.at > p.at AND l.transition <> 'disposition_due')
ORDER BY m.memory_id LIMIT %(limit)s

-- query: disposable
-- Tombstones whose grace is over and whose payload is still there, oldest first.
SELECT m.memory_id FROM {family}_memory m
WHERE {scope m} AND m.typology = %(typology)s AND m.tier = 'persistent'
  AND m.deleted_at <= %(before)s AND m.digest_salt IS NOT NULL
ORDER BY m.deleted_at, m.memory_id LIMIT %(limit)s

-- query: loose_evidence
-- Entries that outlived their scope as evidence, and on which nothing rests any more; by session.
SELECT m.session_id, m.memory_id FROM {family}_memory m
JOIN {family}_memory_retention v ON {scope v} AND v.memory_id = m.memory_id
WHERE {scope m} AND m.tier <> 'persistent' AND m.archived_at IS NOT NULL
  AND v.retention_state = 'ORPHANED'
ORDER BY 1, 2 LIMIT %(limit)s

-- query: strip
SELECT {family}_strip_v1(%(tenant)s, %(anchor_id)s, %(ids)s::uuid[], %(before)s, %(keep_envelope)s)

-- query: states
-- How many entries are in each retention state, by tier.
SELECT v.retention_state, v.tier, count(*) FROM {family}_memory_retention v
WHERE {scope v} GROUP BY 1, 2 ORDER BY 1, 2

-- query: entity_states
-- The same by cell; and how many rows of other tables belong to entries of each state.
WITH standing AS MATERIALIZED (
    SELECT v.memory_id, v.tier || '_' || v.typology AS cell, v.retention_state AS state
    FROM {family}_memory_retention v
    WHERE {scope v} AND (%(entry_id)s::uuid IS NULL OR v.memory_id = %(entry_id)s))
SELECT s.cell, s.state, count(*) FROM standing s GROUP BY 1, 2
{belonging}

-- query: belonging_states
UNION ALL SELECT '{entity}', s.state, count(*)
FROM {table} b JOIN standing s ON s.memory_id = b.memory_id WHERE {scope b} GROUP BY 1, 2

-- query: orphaned
SELECT v.memory_id FROM {family}_memory_retention v
WHERE {scope v} AND v.retention_state = 'ORPHANED' ORDER BY v.memory_id LIMIT %(limit)s

-- query: dangling
-- Entries with a reference that leads nowhere. Foreign keys forbid it, so a row here means that
-- somebody went around them.
SELECT DISTINCT r.memory_id FROM {family}_memory_{noun}_refs r
LEFT JOIN {canonical} c ON c.{tenant} = r.{tenant} AND c.{canonical_id} = r.{canonical_id}
WHERE {scope r} AND (c.{canonical_id} IS NULL OR NOT {pin_resolves})
ORDER BY r.memory_id LIMIT %(limit)s

-- query: pin_resolves
EXISTS (SELECT FROM {canonical_versions} k
        WHERE k.{tenant} = r.{tenant} AND k.{canonical_id} = r.{canonical_id}
          AND k.{canonical_version} = r.{noun}_version)

-- query: unused_vectors
-- Vectors of profiles that the tenant's recalls do not use, by profile.
SELECT e.profile_id, count(*) FROM {family}_memory_embeddings e
WHERE {scope e} AND e.profile_id IS DISTINCT FROM (
    SELECT k.profile_id FROM {family}_memory_profiles k WHERE {of_tenant k}
    ORDER BY k.activation_id DESC LIMIT 1)
GROUP BY 1 ORDER BY 1

-- query: how_many
SELECT count(*) FROM ({found}) AS found
