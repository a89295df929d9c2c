-- API keys: a key stands for a scope, so that the scope comes from authentication and never from
-- a parameter. Here is what a key is bound to, and the one question that the application may ask.

-- The key itself is never stored: `hash` is the SHA-256 of its text, which holds 256 random bits.
-- A salt or a slow hash would protect nothing that can be guessed (see decision 0018). The anchor
-- is bound again under the spec in use each time, so a changed spec cannot be got round.
CREATE TABLE idetic.api_keys (
    key_id uuid NOT NULL,
    agent text NOT NULL,
    anchor jsonb NOT NULL,
    principal idetic.principal NOT NULL,
    principal_name text NOT NULL,
    capabilities text[],
    hash bytea NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    rotated_from uuid,
    CONSTRAINT api_keys_pkey PRIMARY KEY (key_id),
    CONSTRAINT api_keys_rotated_from FOREIGN KEY (rotated_from) REFERENCES idetic.api_keys (key_id),
    -- One successor each: two rotations at once must not leave a key that nobody knows of.
    CONSTRAINT api_keys_one_successor UNIQUE (rotated_from),
    CONSTRAINT api_keys_hash CHECK (octet_length(hash) = 32),
    CONSTRAINT api_keys_anchor CHECK (jsonb_typeof(anchor) = 'object'),
    CONSTRAINT api_keys_capabilities CHECK (cardinality(capabilities) > 0)
);
CREATE INDEX api_keys_agent ON idetic.api_keys (agent, created_at);

-- What a key stands for is written once, for the owner too. It may only end, or end sooner: a key
-- that was revoked stays revoked, and an expiry is never put off.
CREATE FUNCTION idetic.key_turn_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    kept idetic.api_keys := NEW;
BEGIN
    kept.expires_at := OLD.expires_at;
    kept.revoked_at := OLD.revoked_at;
    kept.last_used_at := OLD.last_used_at;
    IF kept IS DISTINCT FROM OLD
       OR (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
       OR coalesce(NEW.expires_at, 'infinity') > coalesce(OLD.expires_at, 'infinity') THEN
        RAISE EXCEPTION 'idetic.append_only: a key can end, and nothing else about it changes'
            USING ERRCODE = 'ID001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER only_ends BEFORE UPDATE ON idetic.api_keys
    FOR EACH ROW EXECUTE FUNCTION idetic.key_turn_v1();
CREATE TRIGGER append_only BEFORE DELETE ON idetic.api_keys
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON idetic.api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();

-- Whether a key holds, and what for. The application role has no right on the table at all: it can
-- neither list keys nor read a hash. The function's owner cannot log in, and may do no more than
-- this needs. It gets the right to own a function there for as long as that takes.
GRANT USAGE ON SCHEMA idetic TO idetic_keys;
GRANT SELECT, UPDATE (last_used_at) ON idetic.api_keys TO idetic_keys;
GRANT SELECT ON idetic.spec_versions TO idetic_keys;

-- One answer for unknown, wrong, expired and revoked: no row. And the same work for each: a look-up
-- by id, then a comparison with something. Both sides are hashed once more under bytes that nobody
-- can foresee, so how long the comparison takes says nothing about the stored hash.
--
-- `last_used_at` moves once an hour at most: asking stays a read, and the table is no diary of who
-- worked when. The moment is the application's, like every other; revocation needs none.
CREATE FUNCTION idetic.authenticate_v1(p_key uuid, p_hash bytea, p_at timestamptz)
RETURNS TABLE (
    agent text, version integer, anchor jsonb, principal idetic.principal, principal_name text,
    capabilities text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    held idetic.api_keys;
    blind bytea := uuid_send(gen_random_uuid());
    fits boolean;
    holds boolean;
BEGIN
    SELECT k.* INTO held FROM idetic.api_keys AS k WHERE k.key_id = p_key;
    fits := sha256(blind || coalesce(held.hash, blind)) = sha256(blind || p_hash);
    holds := held.revoked_at IS NULL AND coalesce(held.expires_at, 'infinity') > p_at;
    IF held.key_id IS NULL OR fits IS NOT TRUE OR holds IS NOT TRUE THEN
        RETURN;
    END IF;
    IF coalesce(held.last_used_at, '-infinity') < p_at - interval '1 hour' THEN
        UPDATE idetic.api_keys AS k SET last_used_at = p_at
        WHERE k.key_id = p_key AND coalesce(k.last_used_at, '-infinity') < p_at - interval '1 hour';
    END IF;
    RETURN QUERY SELECT held.agent,
        (SELECT max(v.version) FROM idetic.spec_versions AS v WHERE v.agent = held.agent),
        held.anchor, held.principal, held.principal_name, held.capabilities;
END
$$;
REVOKE ALL ON FUNCTION idetic.authenticate_v1(uuid, bytea, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION idetic.authenticate_v1(uuid, bytea, timestamptz) TO idetic_app;
GRANT CREATE ON SCHEMA idetic TO idetic_keys;
ALTER FUNCTION idetic.authenticate_v1(uuid, bytea, timestamptz) OWNER TO idetic_keys;
REVOKE CREATE ON SCHEMA idetic FROM idetic_keys;
