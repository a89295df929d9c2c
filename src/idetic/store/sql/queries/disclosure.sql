-- query: turns
-- What was said, event by event, as the log has it; empty ones have nothing left to show.
SELECT l.ts, l.kind::text, l.content, l.metadata, l.position FROM {family}_log l
WHERE {scope l} AND l.salt <> '' AND l.position > %(after)s ORDER BY l.position LIMIT %(limit)s

-- query: entries
-- Everything that is remembered, in every tier and state: what it says, since when, from whom, what
-- it was made of, what supports it, and who read it when.
SELECT m.memory_id, jsonb_build_object(
    'id', m.memory_id, 'text', m.body_text, 'kind', m.typology, 'tier', m.tier,
    'state', CASE WHEN m.deleted_at IS NOT NULL THEN 'deleted'
        WHEN m.superseded_at IS NOT NULL THEN 'superseded'
        WHEN m.invalidated_at IS NOT NULL THEN 'invalidated'
        WHEN m.archived_at IS NOT NULL THEN 'archived'
        WHEN m.candidate THEN 'unconfirmed' ELSE 'current' END,
    'details', m.envelope, 'written_at', m.created_at, 'holds_from', m.valid_at,
    'holds_until', m.invalid_at, 'origin', m.origin, 'written_by', m.created_by, 'trust', m.trust,
    'provenance', coalesce(m.provenance, '{}'),
    'made_of', coalesce((
        SELECT jsonb_agg(jsonb_build_object('id', s.source_id, 'how', s.relation,
                                            'observed_at', s.observed_at) ORDER BY s.source_id)
        FROM {family}_memory_lineage s WHERE {scope s} AND s.memory_id = m.memory_id), '[]'),
    {supported}
    'read_by', coalesce((
        SELECT jsonb_agg(jsonb_build_object('at', r.read_at, 'by', r.read_by) ORDER BY r.read_at, r.read_id)
        FROM {family}_memory_reads r WHERE {scope r} AND r.memory_id = m.memory_id), '[]'))
FROM {family}_memory m
WHERE {scope m} AND m.digest_salt IS NOT NULL AND m.memory_id > %(after)s
ORDER BY m.memory_id LIMIT %(limit)s

-- query: supported
'supported_by', coalesce((
    SELECT jsonb_agg(jsonb_build_object('at', c.corroborated_at, 'by', c.corroborated_by,
        'source', c.source_type, 'notes', c.notes) ORDER BY c.corroborated_at, c.corroboration_id)
    FROM {family}_memory_corroborations c WHERE {scope c} AND c.memory_id = m.memory_id), '[]'),

-- query: actions
-- What was done that rested on it.
SELECT a.action_id, a.action_kind, a.linked_at, a.linked_by, array_agg(a.memory_id ORDER BY a.memory_id)
FROM {family}_memory_actions a WHERE {scope a} GROUP BY 1, 2, 3, 4 ORDER BY 3, 1
