-- query: remember
-- An idempotency key beside the link that it stands for, with the salt of the hash in that link.
INSERT INTO {family}_memory_receipts ({tenant}, anchor_id, idempotency_key, request_digest, position,
    salt)
VALUES (%(tenant)s, %(anchor_id)s, %(key)s, decode(%(digest)s, 'hex'), %(position)s, %(salt)s::bytea)
