-- query: write
-- Call one of the family's writing functions; what comes back is the receipt's ledger row.
SELECT w.position, w.at, w.receipt_id, w.decision, w.reason, w.memory_id, NULL, NULL
FROM {function}({anchor}, {call}) w

-- query: admit
-- Admit entries; the detail comes along where nothing was written, to say why.
SELECT w.r_position, w.r_at, w.r_receipt, w.r_decision, w.r_reason, w.r_memory,
       w.r_detail ->> 'supersedes', CASE WHEN w.r_decision IN ('REJECT', 'NOOP') THEN w.r_detail END
FROM {function}({anchor}, {at}, {kind}, {name}, {session}, {interaction}, {version}, {careful},
                {plain}, {items}) w

-- query: shown
-- What was put before a session, each entry once, the newest first. One look into the index for
-- each entry, however often it was shown; as many as the limit and no more. What was emptied since
-- has no words left to compare.
WITH RECURSIVE shown (memory_id) AS (
    (SELECT r.memory_id FROM {reads} r WHERE {scope_r} AND r.session_id = {session}
     ORDER BY r.memory_id DESC LIMIT 1)
    UNION ALL
    SELECT (SELECT r.memory_id FROM {reads} r WHERE {scope_r} AND r.session_id = {session}
                AND r.memory_id < shown.memory_id ORDER BY r.memory_id DESC LIMIT 1)
    FROM shown WHERE shown.memory_id IS NOT NULL)
SELECT m.memory_id, m.body_text, m.envelope -> 'claim'
FROM {memory} m
WHERE {scope_m} AND m.memory_id = ANY (ARRAY(SELECT shown.memory_id FROM shown LIMIT {limit}))
  AND m.digest_salt IS NOT NULL ORDER BY m.memory_id DESC
