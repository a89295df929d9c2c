INSERT INTO {ledger} ({anchor}, {ledger_columns})
VALUES ({anchor_p}, head_position + 1, item.receipt, stamp, {transition}, {decision}, {entry},
    p_kind, p_name, {reason}, {state_from}, {state_to}, {detail}, head_hash,
    idetic.link_hash_v1(head_hash, head_position + 1, item.receipt, stamp, {transition},
        {decision}, {entry}, p_kind, p_name, {reason}, {state_from}, {state_to}, {detail}))
RETURNING receipt_id, decision, reason, position, position, at, memory_id, detail, hash
INTO r_receipt, r_decision, r_reason, r_position, head_position, r_at, r_memory, r_detail, head_hash;
