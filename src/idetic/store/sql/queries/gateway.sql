-- query: turn
-- Archive or exempt an entry; what comes back is the receipt's ledger row.
SELECT w.position, w.at, w.receipt_id, w.decision, w.reason, w.memory_id, NULL, NULL
FROM {family}_turn_v1(%(tenant)s, %(anchor_id)s, %(call)s) w

-- query: link_action
-- Record that an action rested on entries.
SELECT w.position, w.at, w.receipt_id, w.decision, w.reason, w.memory_id, NULL, NULL
FROM {family}_link_v1(%(tenant)s, %(anchor_id)s, %(call)s) w

-- query: scope_turn
-- Open a session or an interaction.
SELECT w.position, w.at, w.receipt_id, w.decision, w.reason, w.memory_id, NULL, NULL
FROM {family}_scope_v1(%(tenant)s, %(anchor_id)s, %(call)s) w

-- query: admit
-- Admit entries; the detail comes along where nothing was written, to say why.
SELECT w.r_position, w.r_at, w.r_receipt, w.r_decision, w.r_reason, w.r_memory,
       w.r_detail ->> 'supersedes', CASE WHEN w.r_decision IN ('REJECT', 'NOOP') THEN w.r_detail END
FROM {family}_admit_v1(%(tenant)s, %(anchor_id)s, %(at)s, %(kind)s, %(name)s, %(session)s,
    %(interaction)s, %(version)s, %(careful)s, %(waits)s, %(items)s) w

-- query: convoy
-- Admit plain items of several calls, of one anchor or of several, each at its own place.
SELECT w.r_call, w.r_position, w.r_at, w.r_receipt, w.r_decision, w.r_reason, w.r_memory,
       w.r_detail ->> 'supersedes', CASE WHEN w.r_decision IN ('REJECT', 'NOOP') THEN w.r_detail END
FROM {family}_convoy_v1(%(tenant)s, %(at)s, %(kind)s, %(name)s, %(version)s, %(waits)s,
    %(calls)s, %(items)s) w
