-- query: kept
-- Entries in one retention state, newest first.
SELECT {columns} FROM {memory} m
WHERE {scope_m} AND ({before}::uuid IS NULL OR m.memory_id < {before}) AND m.memory_id IN (
    SELECT v.memory_id FROM {v_retention} v WHERE {scope_v} AND v.retention_state = {state})
ORDER BY m.memory_id DESC LIMIT {limit}

-- query: written
-- Entries that were written within some time, whatever became of them, newest first.
SELECT {columns} FROM {memory} m
WHERE {scope_m} AND m.created_at >= {since} AND m.created_at < {until}
  AND ({tier}::idetic.tier IS NULL OR m.tier = {tier})
  AND ({typology}::idetic.typology IS NULL OR m.typology = {typology})
  AND ({before}::uuid IS NULL OR m.memory_id < {before})
ORDER BY m.memory_id DESC LIMIT {limit}

-- query: unembedded
-- Entries that wait for a vector, newest first.
SELECT {columns} FROM {memory} m
WHERE {scope_m} AND {without_vector} AND ({before}::uuid IS NULL OR m.memory_id < {before})
ORDER BY m.memory_id DESC LIMIT {limit}

-- query: refusals
-- What the guard refused within some time, newest first. By time and not by position: an open scope
-- reads several chains, and the index of refusals is by time.
SELECT l.position, l.at, l.transition, l.memory_id, l.actor_kind, l.actor, l.decision, l.reason,
       l.state_from, l.state_to, l.detail, l.receipt_id, l.prev_hash, l.hash
FROM {ledger} l WHERE {scope_l} AND l.transition = 'refused'
  AND ({since}::timestamptz IS NULL OR l.at >= {since})
  AND ({until}::timestamptz IS NULL OR l.at < {until})
ORDER BY l.at DESC, l.position DESC LIMIT {limit}

-- query: sessions
-- The open sessions, the newest first, each with its open interactions in the order of their ids.
SELECT s.scope_id, s.opened_at, s.opened_by,
       ARRAY(SELECT a.scope_id FROM {scopes} a
             WHERE {scope_a} AND a.session_id = s.scope_id AND a.tier = 'interaction'
               AND a.closed_at IS NULL ORDER BY a.scope_id)
FROM {scopes} s WHERE {scope_s} AND s.tier = 'session' AND s.closed_at IS NULL
ORDER BY s.scope_id DESC LIMIT {limit}
