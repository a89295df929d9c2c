-- query: cells
-- What is current now, by cell, and how much of it still waits for support.
SELECT m.tier, m.typology, count(*), count(*) FILTER (WHERE m.candidate)
FROM {family}_memory m WHERE {scope m} AND {live m} GROUP BY 1, 2 ORDER BY 1, 2

-- query: written
-- Entries by the day they were written, whatever became of them; those that went with their scope,
-- or stayed as evidence of what was made of them, are not counted.
SELECT date_trunc('day', m.created_at, 'UTC'), m.tier, m.typology, count(*)
FROM {family}_memory m WHERE {scope m} AND m.created_at >= %(since)s AND NOT {evidence m}
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3

-- query: refused
-- What the guard refused, by day. Reasons and never texts: the ledger has none of those.
SELECT date_trunc('day', l.at, 'UTC'), l.reason, count(*)
FROM {family}_memory_ledger l WHERE {scope l} AND l.transition = 'refused' AND l.at >= %(since)s
GROUP BY 1, 2 ORDER BY 1, 2

-- query: sampled_out
-- How many observations the spec's sampling left out; each has its link.
SELECT count(*) FROM {family}_memory_ledger l
WHERE {scope l} AND l.transition = 'observed' AND l.reason = 'sampled out' AND l.at >= %(since)s

-- query: unembedded
-- Entries without a vector in the profile that the tenant's recalls use, and since when the first
-- of them waits.
SELECT count(*), min(m.created_at) FROM {family}_memory m WHERE {scope m} AND {without_vector}

-- query: without_vector
m.deleted_at IS NULL AND m.archived_at IS NULL {embeddable} AND (
    SELECT true FROM {family}_memory_embeddings e
    WHERE {scope e} AND e.anchor_id = m.anchor_id AND e.memory_id = m.memory_id AND e.piece = 0
      AND e.profile_id = (
        SELECT p.profile_id FROM {family}_memory_profiles p WHERE {of_tenant p}
        ORDER BY p.activation_id DESC LIMIT 1)) IS NULL

-- query: due
-- How long the disposition queue is.
SELECT count(*) FROM {family}_memory m
WHERE {scope m} AND m.tier = 'persistent' AND {live m} AND m.exempt_at IS NULL AND {due} <= %(moment)s

-- query: contradicted
-- How many contradictions of one noun wait for an operator.
SELECT count(*) FROM {family}_{noun}_contradictions c
WHERE {scope c} AND c.status = ANY (%(status)s::idetic.contradiction_status[])
