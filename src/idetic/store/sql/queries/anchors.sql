-- query: anchors
-- The anchors that a scope covers, with the tenant in every part. The page is chosen first: what an
-- anchor holds is counted for those that are shown.
WITH page AS MATERIALIZED (
    SELECT a.* FROM {family}_memory_anchors a
    WHERE {scope a} AND a.anchor_id > %(after)s ORDER BY a.anchor_id LIMIT %(limit)s),
held AS (
    SELECT m.anchor_id, count(*) FILTER (WHERE m.deleted_at IS NULL) AS entries,
           min(m.created_at) AS first_write,
           count(*) FILTER (WHERE m.tier = 'persistent' AND {live m}
                            AND (m.candidate OR {due} <= %(moment)s)) AS waiting
    FROM {family}_memory m
    WHERE {of_tenant m} AND m.anchor_id IN (SELECT p.anchor_id FROM page p)
    GROUP BY m.anchor_id)
SELECT a.anchor_id, coalesce(h.entries, 0), h.first_write,
       CASE WHEN a.position > 0 THEN a.at END, {events}, coalesce(h.waiting, 0) {contradicted}, {keys}
FROM page a LEFT JOIN held h ON h.anchor_id = a.anchor_id ORDER BY a.anchor_id

-- query: contradicted
-- Contradictions of one noun that wait, for an anchor called a: a term of the sum above.
+ (SELECT count(*) FROM {family}_{noun}_contradictions c
   WHERE {of_tenant c} AND c.anchor_id = a.anchor_id
     AND c.status = ANY (%(status)s::idetic.contradiction_status[]))
