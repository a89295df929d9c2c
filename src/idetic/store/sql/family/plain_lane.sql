-- All items of the call are simply added: one statement for all of them, and one row back.
IF p_plain THEN
    WITH item AS MATERIALIZED (
        SELECT x.*, row_number() OVER () AS n FROM {items}
    ), entry AS (
        {insert_memory} FROM item
    ), chained AS MATERIALIZED (
        SELECT item.*, idetic.chain_v1(head_hash, idetic.link_content_v1(
            r_position + item.n, item.receipt, r_at, item.transition, 'ADD', item.memory, p_kind,
            p_name, 'new', NULL, 'current', item.detail)) OVER (ORDER BY item.n) AS link_hash
        FROM item
    ), linked AS (
        INSERT INTO {ledger} ({anchor}, {ledger_columns})
        SELECT {anchor_p}, r_position + item.n, item.receipt, r_at, item.transition, 'ADD',
            item.memory, p_kind, p_name, 'new', NULL, 'current', item.detail,
            lag(item.link_hash, 1, head_hash) OVER (ORDER BY item.n), item.link_hash
        FROM chained AS item
    )
    UPDATE {anchors} a SET position = r_position + last.n, hash = last.link_hash, at = r_at
    FROM (SELECT item.n, item.link_hash FROM chained AS item ORDER BY item.n DESC LIMIT 1) AS last
    WHERE {anchor_is_p_a} RETURNING a.position INTO r_position;
    RETURN NEXT;
    RETURN;
END IF;
