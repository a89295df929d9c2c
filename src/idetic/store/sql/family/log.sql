-- object: schema {schema_text}
-- The owning context of this agent's memory. Other contexts get no grant (ADR-058 D13).
CREATE SCHEMA IF NOT EXISTS {schema};
GRANT USAGE ON SCHEMA {schema} TO {writers}, {readers}, idetic_guard, idetic_keeper,
    idetic_worker, idetic_mover;

-- if log:
-- object: table {name}_log
-- The perfect log: every event as it came through the ingest gate, retrieved literally. A record
-- store, outside the gateway: entries are derived from it. `position` has no gaps within an anchor,
-- and `hash` chains each event to the one before.
-- Only the primary key is an index without a condition. Until a table is analysed, the planner takes
-- any index that begins with tenant and anchor for as good as any other, and the check of a foreign
-- key read a whole anchor for each row (9 million index entries for 6,000 events). It asks by
-- `event_id` alone, so it can only take the right one; the conditions below are always true.
CREATE TABLE {family}_log (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    position bigint NOT NULL,
    event_id uuid NOT NULL,
    ts timestamptz NOT NULL,
    loop_id uuid NOT NULL,
    kind idetic.event_kind NOT NULL,
    visibility idetic.event_visibility NOT NULL,
    content idetic.event_content NOT NULL,
    metadata idetic.event_metadata NOT NULL,
    salt bytea NOT NULL,
    content_hash bytea NOT NULL,
    prev_hash bytea NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT {name}_log_pkey PRIMARY KEY ({tenant}, anchor_id, event_id)
);

-- object: index {name}_log_position
CREATE UNIQUE INDEX {name}_log_position_idx ON {family}_log ({tenant}, anchor_id, position)
    WHERE position IS NOT NULL;

-- object: index {name}_log_moment
CREATE INDEX {name}_log_moment_idx ON {family}_log ({tenant}, anchor_id, ts, position)
    WHERE ts IS NOT NULL;

-- object: index {name}_log_loop
CREATE INDEX {name}_log_loop_idx ON {family}_log ({tenant}, anchor_id, loop_id, position)
    WHERE loop_id IS NOT NULL;

-- object: function {name}_log_emptied_v1
-- The one change that an event may see: it is emptied, by the keeper, because it named somebody who
-- is to be forgotten. Its hash stays, so the chain verifies; its salt goes, so that nobody can guess
-- at the hash. For the owner too.
CREATE OR REPLACE FUNCTION {family}_log_emptied_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    may text[] := ARRAY['content', 'metadata', 'salt'];
BEGIN
    IF current_user = 'idetic_keeper' AND NEW.content = '[erased]' AND NEW.metadata = '{}'
       AND NEW.salt = '' AND to_jsonb(NEW) - may = to_jsonb(OLD) - may THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'idetic.append_only: % on %.% is refused', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'ID001';
END
$$;
-- end

-- if channel:
-- object: table {name}_notes
-- The one channel back: what the Subconscious tells the Actor, behind a gate of the application
-- (persona/notes.py). The Actor reads it and cannot write it; nobody changes it.
CREATE TABLE {family}_notes (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    note_id uuid NOT NULL,
    ts timestamptz NOT NULL,
    body idetic.operational_note NOT NULL,
    CONSTRAINT {name}_notes_pkey PRIMARY KEY ({tenant}, anchor_id, note_id)
);

-- object: function {name}_notes_emptied_v1
-- A note that named somebody is emptied like an event.
CREATE OR REPLACE FUNCTION {family}_notes_emptied_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF current_user = 'idetic_keeper' AND NEW.body = '[erased]'
       AND to_jsonb(NEW) - 'body' = to_jsonb(OLD) - 'body' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'idetic.append_only: % on %.% is refused', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'ID001';
END
$$;
-- end
