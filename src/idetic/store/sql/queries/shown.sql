-- query: shown
-- What was put before a session, at it or beside it to whoever opened it, each entry once, the newest
-- first. At it: one look into the index for each entry, however often it was shown, as many as the
-- limit and no more. Beside it: what was read last. What was emptied since has no words left to compare.
WITH RECURSIVE shown (memory_id) AS (
    (SELECT r.memory_id FROM {family}_memory_reads r WHERE {scope r} AND r.session_id = %(session)s
     ORDER BY r.memory_id DESC LIMIT 1)
    UNION ALL
    SELECT (SELECT r.memory_id FROM {family}_memory_reads r
            WHERE {scope r} AND r.session_id = %(session)s AND r.memory_id < shown.memory_id
            ORDER BY r.memory_id DESC LIMIT 1)
    FROM shown WHERE shown.memory_id IS NOT NULL)
SELECT m.memory_id, m.body_text, m.envelope -> 'claim',
    coalesce(m.envelope ->> 'speaker', m.created_by)
FROM {family}_memory m
WHERE {scope m} AND m.memory_id = ANY (ARRAY(
    (SELECT shown.memory_id FROM shown LIMIT %(limit)s)
    UNION
    (SELECT r.memory_id FROM {family}_memory_scopes s
     CROSS JOIN LATERAL (
        SELECT r.memory_id FROM {family}_memory_reads r
        WHERE {scope r} AND r.session_id IS NULL AND r.read_by = s.opened_by
          AND r.read_at > s.opened_at - interval '1 hour'
        ORDER BY r.read_at DESC LIMIT %(limit)s) r
     WHERE {scope s} AND s.scope_id = %(session)s)))
  AND m.digest_salt IS NOT NULL ORDER BY m.memory_id DESC LIMIT %(limit)s
