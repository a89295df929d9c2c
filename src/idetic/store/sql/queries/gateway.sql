-- query: write
-- Call one of the family's writing functions; what comes back is the receipt's ledger row.
SELECT w.position, w.at, w.receipt_id, w.decision, w.reason, w.memory_id, NULL, NULL
FROM {function}({anchor}, {call}) w

-- query: admit
-- Admit entries; the detail comes along for a refusal only.
SELECT w.r_position, w.r_at, w.r_receipt, w.r_decision, w.r_reason, w.r_memory,
       w.r_detail ->> 'supersedes', CASE WHEN w.r_decision = 'REJECT' THEN w.r_detail END
FROM {function}({anchor}, {at}, {kind}, {name}, {session}, {interaction}, {version}, {careful},
                {plain}, {items}) w
