IF {key} IS NOT NULL THEN
    INSERT INTO {receipts} ({anchor}, idempotency_key, request_digest, position)
    VALUES ({anchor_p}, {key}, decode({digest}, 'hex'), link.position);
END IF;
