-- query: write
-- Call one of the family's writing functions; what comes back is the receipt's ledger row.
SELECT w.receipt_id, w.decision, w.reason, w.position, w.at, w.memory_id,
       w.detail ->> 'supersedes', w.detail
FROM {function}({anchor}, {call}) w
