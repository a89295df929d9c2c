r_position := r_position + 1;
prev_hash := head_hash;
head_hash := sha256(prev_hash || idetic.link_content_v1(r_position, item.receipt, r_at, {transition},
    {decision}, {entry}, p_kind, p_name, {reason}, {state_from}, {state_to}, {detail}));
{before}
INSERT INTO {ledger} ({anchor}, {ledger_columns})
VALUES ({anchor_p}, r_position, item.receipt, r_at, {transition}, {decision}, {entry},
    p_kind, p_name, {reason}, {state_from}, {state_to}, {detail}, prev_hash, head_hash);
