IF call ->> 'key' IS NOT NULL THEN
    INSERT INTO {receipts} ({anchor}, idempotency_key, request_digest, position)
    VALUES ({anchor_p}, call ->> 'key', decode(call ->> 'digest', 'hex'), link.position);
END IF;
