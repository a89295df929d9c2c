-- query: cells
-- What is current now, by cell, and how much of it still waits for support.
SELECT m.tier, m.typology, count(*), count(*) FILTER (WHERE m.candidate)
FROM {memory} m WHERE {scope_m} AND {live} GROUP BY 1, 2 ORDER BY 1, 2

-- query: written
-- Entries by the day they were written, whatever became of them; those that went with their scope
-- are not there to be counted.
SELECT date_trunc('day', m.created_at, 'UTC'), m.tier, m.typology, count(*)
FROM {memory} m WHERE {scope_m} AND m.created_at >= {since} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3

-- query: refused
-- What the guard refused, by day. Reasons and never texts: the ledger has none of those.
SELECT date_trunc('day', l.at, 'UTC'), l.reason, count(*)
FROM {ledger} l WHERE {scope_l} AND l.transition = 'refused' AND l.at >= {since}
GROUP BY 1, 2 ORDER BY 1, 2

-- query: unembedded
-- Entries without a vector in the profile that the tenant's recalls use, and since when the first
-- of them waits.
SELECT count(*), min(m.created_at) FROM {memory} m WHERE {scope_m} AND {without_vector}

-- query: without_vector
m.deleted_at IS NULL AND m.archived_at IS NULL AND (
    SELECT true FROM {embeddings} e WHERE {scope_e} AND e.memory_id = m.memory_id AND e.profile_id = (
        SELECT p.profile_id FROM {profiles} p WHERE {scope_tenant_p}
        ORDER BY p.activation_id DESC LIMIT 1)) IS NULL

-- query: due
-- How long the disposition queue is.
SELECT count(*) FROM {memory} m
WHERE {scope_m} AND m.tier = 'persistent' AND {live} AND m.exempt_at IS NULL AND {due} <= {moment}

-- query: contradicted
-- How many contradictions of one noun wait for an operator.
SELECT count(*) FROM {contradictions} c WHERE {scope_c} AND c.status = ANY ({status}::idetic.contradiction_status[])
