-- query: authenticate
-- As the application role: all that it may ask about keys.
SELECT agent, version, anchor, principal::text, principal_name, capabilities
FROM idetic.authenticate_v1(%(id)s, %(hash)s, %(at)s)

-- query: become_owner
-- Managing keys is administration. A superuser's login sheds its rights here, so that a mistake
-- below meets the same triggers as anybody's.
SET LOCAL ROLE idetic_owner

-- query: create
INSERT INTO idetic.api_keys (key_id, agent, anchor, principal, principal_name, capabilities, hash,
    created_at, created_by, expires_at)
VALUES (%(id)s, %(agent)s, %(anchor)s, %(kind)s, %(name)s, %(capabilities)s, %(hash)s,
    %(at)s, %(by)s, %(expires_at)s)

-- query: list
-- Never the hash: it opens nothing, and still has no reader.
SELECT key_id, agent, anchor, principal::text, principal_name, capabilities, created_at, created_by,
    expires_at, revoked_at, last_used_at, rotated_from
FROM idetic.api_keys
WHERE (%(agent)s::text IS NULL OR agent = %(agent)s) AND (%(id)s::uuid IS NULL OR key_id = %(id)s)
ORDER BY created_at, key_id

-- query: hold
-- Taken before a key is rotated: two rotations at once queue here, and the second finds the first.
SELECT revoked_at IS NULL AND coalesce(expires_at, 'infinity') > %(at)s AND NOT EXISTS (
    SELECT FROM idetic.api_keys AS next WHERE next.rotated_from = k.key_id)
FROM idetic.api_keys AS k WHERE k.key_id = %(id)s FOR UPDATE OF k

-- query: succeed
-- The successor stands for exactly what the old key stood for.
INSERT INTO idetic.api_keys (key_id, agent, anchor, principal, principal_name, capabilities, hash,
    created_at, created_by, expires_at, rotated_from)
SELECT %(new)s, agent, anchor, principal, principal_name, capabilities, %(hash)s,
    %(at)s, %(by)s, coalesce(%(expires_at)s::timestamptz, expires_at), key_id
FROM idetic.api_keys WHERE key_id = %(id)s

-- query: end
-- The old key holds until the grace is over, never longer than it would have. Without a grace it is
-- revoked, which no clock that lags behind can overlook.
UPDATE idetic.api_keys
SET expires_at = least(expires_at, %(until)s),
    revoked_at = CASE WHEN %(until)s <= %(at)s THEN %(at)s ELSE revoked_at END
WHERE key_id = %(id)s

-- query: revoke
-- Twice is fine, and the first time stays.
UPDATE idetic.api_keys SET revoked_at = coalesce(revoked_at, %(at)s) WHERE key_id = %(id)s
