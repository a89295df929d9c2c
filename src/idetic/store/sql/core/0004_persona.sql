-- Persona memory: the perfect log of an agent, its long-term mirror and its short-term loops, once
-- for the Actor (schema idetic_actor) and once for the Subconscious (schema idetic_subconscious).
--
-- Two families of tables and not one with a column `persona`: the Actor must neither see nor infer
-- what the Subconscious remembers. What is apart cannot be counted, ranked, locked or violated
-- together: own positions, own ends of chains, own unique keys, own indexes, own statistics.

CREATE TYPE idetic.event_kind AS ENUM (
    'user_input', 'actor_output', 'tool_call', 'tool_result', 'subconscious_prompt',
    'subconscious_output', 'system_event', 'error', 'feedback'
);
CREATE TYPE idetic.event_visibility AS ENUM ('external', 'internal');
CREATE TYPE idetic.embed_status AS ENUM ('pending', 'embedded', 'failed');

-- Bounds as domains, see decision 0005. A log holds tool results; a summary is what is left of one.
CREATE DOMAIN idetic.event_content AS text CONSTRAINT event_content_bounded
    CHECK (char_length(VALUE) <= 1000000);
CREATE DOMAIN idetic.event_metadata AS jsonb CONSTRAINT event_metadata_bounded
    CHECK (jsonb_typeof(VALUE) = 'object' AND pg_column_size(VALUE) <= 65536);
CREATE DOMAIN idetic.ltm_summary AS text CONSTRAINT ltm_summary_bounded
    CHECK (char_length(VALUE) <= 4000);

-- What a link of a log's chain says. The content enters by its salted hash, as in every ledger:
-- whoever empties a content later leaves a chain that still verifies.
CREATE FUNCTION idetic.event_link_v1(
    pos bigint, event uuid, at timestamptz, loop_id uuid, kind idetic.event_kind,
    visibility idetic.event_visibility, content_hash bytea
) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT convert_to(jsonb_build_array(
        pos, event, (extract(epoch FROM at) * 1000000)::bigint, loop_id, kind, visibility,
        encode(content_hash, 'hex'))::text, 'UTF8')
$$;

GRANT USAGE ON SCHEMA idetic TO idetic_actor, idetic_subconscious;

-- The one change that an event may see: it is emptied, by the keeper, because it named somebody who
-- is to be forgotten. Its hash stays, so the chain verifies; its salt goes, so the hash cannot be
-- guessed at. For the owner too.
CREATE FUNCTION idetic.event_emptied_v1() RETURNS trigger
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

-- The same for a note to the Actor.
CREATE FUNCTION idetic.note_emptied_v1() RETURNS trigger
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

-- One text for both families, so that they cannot drift apart.
DO $do$
DECLARE
    family text;
    vector_schema text := (SELECT quote_ident(n.nspname) FROM pg_extension e
        JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector');
    ddl text := $ddl$
CREATE SCHEMA @family;
GRANT USAGE ON SCHEMA @family TO @family;

-- The perfect log: every event as it came through the ingest gate, retrieved literally. `position`
-- has no gaps within an agent, and `hash` chains it to the one before.
CREATE TABLE @family.log (
    tenant text NOT NULL,
    agent_id text NOT NULL,
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
    CONSTRAINT log_pkey PRIMARY KEY (tenant, agent_id, position),
    CONSTRAINT log_event UNIQUE (tenant, agent_id, event_id)
);
CREATE INDEX log_moment ON @family.log (tenant, agent_id, ts, position);
CREATE INDEX log_loop ON @family.log (tenant, agent_id, loop_id, position);

-- The end of each agent's chain; locked from the first event of a transaction to its commit, so
-- that positions have no gaps and a reader that tails them never overlooks one (decision 0004).
CREATE TABLE @family.heads (
    tenant text NOT NULL,
    agent_id text NOT NULL,
    position bigint NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT heads_pkey PRIMARY KEY (tenant, agent_id)
) WITH (fillfactor = 50);

-- Long-term memory: exactly one entry per event, which the unique key holds. `derivation` names
-- what compacted and graded it: a dream finds by it what an older way made.
--
-- No foreign key to the log, and none from the vectors to here. Nothing that they point at is ever
-- deleted. And as long as a table has no statistics, every index that begins with the agent looks
-- equally good to the planner: the check then read all of an agent for each row (9 million index
-- entries for 6,000 events), until the first ANALYZE.
CREATE TABLE @family.ltm (
    tenant text NOT NULL,
    agent_id text NOT NULL,
    ltm_id uuid NOT NULL,
    event_id uuid NOT NULL,
    position bigint NOT NULL,
    loop_id uuid NOT NULL,
    ts timestamptz NOT NULL,
    kind idetic.event_kind NOT NULL,
    visibility idetic.event_visibility NOT NULL,
    summary idetic.ltm_summary NOT NULL,
    lexemes tsvector NOT NULL,
    substance smallint NOT NULL,
    importance float8 NOT NULL,
    derivation text NOT NULL,
    status idetic.embed_status NOT NULL DEFAULT 'pending',
    attempts integer NOT NULL DEFAULT 0,
    last_error text,
    CONSTRAINT ltm_pkey PRIMARY KEY (tenant, agent_id, ltm_id),
    CONSTRAINT ltm_one_per_event UNIQUE (tenant, agent_id, event_id),
    CONSTRAINT ltm_importance CHECK (importance BETWEEN 0 AND 1)
);
CREATE INDEX ltm_position ON @family.ltm (tenant, agent_id, position);
CREATE INDEX ltm_loop ON @family.ltm (tenant, agent_id, loop_id, position);
CREATE INDEX ltm_waiting ON @family.ltm (tenant, agent_id, position) WHERE status <> 'embedded';

-- Vectors in a table of their own, by profile: the physical side of the logical collection
-- <agent_id>__<persona>__ltm. Half precision, as everywhere.
CREATE TABLE @family.vectors (
    tenant text NOT NULL,
    agent_id text NOT NULL,
    ltm_id uuid NOT NULL,
    profile_id uuid NOT NULL,
    embedding @vector.halfvec(384) NOT NULL,
    CONSTRAINT vectors_pkey PRIMARY KEY (tenant, agent_id, profile_id, ltm_id)
);
CREATE INDEX vectors_hnsw ON @family.vectors USING hnsw (embedding @vector.halfvec_ip_ops);

-- Short-term memory: exactly one entry per loop. `ltm_ids`, `kinds` and `visibilities` go along
-- the loop's events, in their order; entries they name are never deleted, so they cannot dangle.
CREATE TABLE @family.stm (
    tenant text NOT NULL,
    agent_id text NOT NULL,
    loop_id uuid NOT NULL,
    ts timestamptz NOT NULL,
    summary text NOT NULL,
    ltm_ids uuid[] NOT NULL,
    kinds idetic.event_kind[] NOT NULL,
    visibilities idetic.event_visibility[] NOT NULL,
    CONSTRAINT stm_pkey PRIMARY KEY (tenant, agent_id, loop_id),
    CONSTRAINT stm_paired CHECK (cardinality(ltm_ids) = cardinality(kinds)
        AND cardinality(ltm_ids) = cardinality(visibilities))
);
CREATE INDEX stm_window ON @family.stm (tenant, agent_id, ts, loop_id);

-- What is written once stays, for the owner too; what is derived may change and never goes.
CREATE TRIGGER append_only BEFORE DELETE ON @family.log
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER only_emptied BEFORE UPDATE ON @family.log
    FOR EACH ROW EXECUTE FUNCTION idetic.event_emptied_v1();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON @family.log
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only BEFORE DELETE ON @family.heads
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON @family.heads
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only BEFORE DELETE ON @family.ltm
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON @family.ltm
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only BEFORE DELETE ON @family.vectors
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON @family.vectors
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only BEFORE DELETE ON @family.stm
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON @family.stm
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();

-- Long-term entries of events that are in the log. Again is fine: an entry that another way of
-- deriving made is replaced, and waits for a new vector if it says something else now.
CREATE FUNCTION @family.derive_v1(p_tenant text, p_agent text, p_items jsonb) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    item record;
BEGIN
    -- One by one and not INSERT … SELECT, which Citus refuses under row-level security.
    FOR item IN SELECT * FROM jsonb_to_recordset(p_items) AS x(ltm uuid, id uuid, position bigint,
        loop_id uuid, ts timestamptz, kind idetic.event_kind, visibility idetic.event_visibility,
        summary text, substance smallint, importance float8, derivation text)
    LOOP
        INSERT INTO @family.ltm AS l (tenant, agent_id, ltm_id, event_id, position, loop_id, ts, kind,
            visibility, summary, lexemes, substance, importance, derivation)
        VALUES (p_tenant, p_agent, item.ltm, item.id, item.position, item.loop_id, item.ts, item.kind,
            item.visibility, item.summary, to_tsvector('pg_catalog.english', item.summary),
            item.substance, item.importance, item.derivation)
        ON CONFLICT (tenant, agent_id, event_id) DO UPDATE
            SET summary = EXCLUDED.summary, lexemes = EXCLUDED.lexemes,
                substance = EXCLUDED.substance, importance = EXCLUDED.importance,
                derivation = EXCLUDED.derivation,
                status = CASE WHEN l.summary = EXCLUDED.summary THEN l.status ELSE 'pending' END
            WHERE l.derivation <> EXCLUDED.derivation AND l.summary <> '[erased]';
    END LOOP;
END
$$;

-- A vector says what its entry says: one that was computed before its entry was emptied, and comes
-- to be stored after it, is emptied too. The row's lock makes the two wait for each other.
CREATE FUNCTION @family.vector_kept_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM @family.ltm AS m
    WHERE m.tenant = NEW.tenant AND m.agent_id = NEW.agent_id AND m.ltm_id = NEW.ltm_id
      AND m.summary = '[erased]' FOR NO KEY UPDATE;
    IF FOUND THEN
        NEW.embedding := array_fill(0, ARRAY[384])::@vector.halfvec;
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION @family.vector_kept_v1() FROM PUBLIC;
CREATE TRIGGER vector_kept BEFORE INSERT OR UPDATE ON @family.vectors
    FOR EACH ROW EXECUTE FUNCTION @family.vector_kept_v1();

-- Empty events for good, with all that was derived from them, and say what went from where. Only
-- the application may ask for it, never a persona. An event without an entry gets an empty one, so
-- that a dream which read the event before cannot write what it said.
GRANT USAGE ON SCHEMA @family TO idetic_keeper;
GRANT SELECT ON @family.log, @family.ltm, @family.vectors, @family.stm TO idetic_keeper;
GRANT UPDATE (content, metadata, salt) ON @family.log TO idetic_keeper;
GRANT INSERT, UPDATE ON @family.ltm TO idetic_keeper;
GRANT UPDATE (embedding) ON @family.vectors TO idetic_keeper;
GRANT UPDATE (summary) ON @family.stm TO idetic_keeper;
CREATE FUNCTION @family.erase_v1(p_tenant text, p_agent text, p_events uuid[])
RETURNS TABLE (r_table text, r_ids uuid[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    event record;
    gone uuid[] := '{}';
    entries uuid[] := '{}';
    loops uuid[] := '{}';
    entry uuid;
BEGIN
    FOR event IN SELECT l.* FROM @family.log AS l
        WHERE l.tenant = p_tenant AND l.agent_id = p_agent AND l.event_id = ANY (p_events)
        ORDER BY l.position
    LOOP
        UPDATE @family.log AS l SET content = '[erased]', metadata = '{}', salt = ''
        WHERE l.tenant = p_tenant AND l.agent_id = p_agent AND l.position = event.position;
        INSERT INTO @family.ltm AS m (tenant, agent_id, ltm_id, event_id, position, loop_id, ts, kind,
            visibility, summary, lexemes, substance, importance, derivation)
        VALUES (p_tenant, p_agent, gen_random_uuid(), event.event_id, event.position, event.loop_id,
            event.ts, event.kind, event.visibility, '[erased]', '', 0, 0, 'erased')
        ON CONFLICT (tenant, agent_id, event_id) DO UPDATE
            SET summary = '[erased]', lexemes = '', substance = 0, importance = 0,
                derivation = 'erased', last_error = NULL
        RETURNING m.ltm_id INTO entry;
        gone := gone || event.event_id;
        entries := entries || entry;
        loops := loops || event.loop_id;
    END LOOP;
    UPDATE @family.vectors AS v SET embedding = array_fill(0, ARRAY[384])::@vector.halfvec
    WHERE v.tenant = p_tenant AND v.agent_id = p_agent AND v.ltm_id = ANY (entries);
    UPDATE @family.stm AS s SET summary = '[erased]'
    WHERE s.tenant = p_tenant AND s.agent_id = p_agent AND s.loop_id = ANY (loops);
    RETURN QUERY SELECT 'log', gone UNION ALL SELECT 'ltm', entries
        UNION ALL SELECT 'stm', ARRAY(SELECT DISTINCT unnest(loops));
END
$$;
REVOKE ALL ON FUNCTION @family.erase_v1(text, text, uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @family.erase_v1(text, text, uuid[]) TO idetic_app;
GRANT CREATE ON SCHEMA @family TO idetic_keeper;
ALTER FUNCTION @family.erase_v1(text, text, uuid[]) OWNER TO idetic_keeper;
REVOKE CREATE ON SCHEMA @family FROM idetic_keeper;
GRANT USAGE ON SCHEMA @family TO idetic_app;

-- Append events: the one way a row of the log comes to be. The lock on the chain's end is held to
-- the commit. An event that is there already, by its id, is not written twice; with another content
-- it is refused. Then the long-term entries, in a savepoint: if deriving
-- fails, the events are kept all the same, and a dream derives them later.
CREATE FUNCTION @family.append_v1(p_tenant text, p_agent text, p_events jsonb)
RETURNS TABLE (r_position bigint, r_hash bytea, r_at timestamptz, r_derived boolean)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    item record;
    held record;
    last bigint;
    link bytea;
    next_link bytea;
    content_hash bytea;
    derived boolean := false;
    items jsonb[] := '{}';
    positions bigint[] := '{}';
    hashes bytea[] := '{}';
    moments timestamptz[] := '{}';
BEGIN
    SELECT h.position, h.hash INTO last, link FROM @family.heads AS h
    WHERE h.tenant = p_tenant AND h.agent_id = p_agent FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO @family.heads (tenant, agent_id, position, hash)
        VALUES (p_tenant, p_agent, 0,
                idetic.genesis_hash_v1('@family', jsonb_build_array(p_tenant, p_agent)))
        ON CONFLICT (tenant, agent_id) DO NOTHING;
        SELECT h.position, h.hash INTO last, link FROM @family.heads AS h
        WHERE h.tenant = p_tenant AND h.agent_id = p_agent FOR UPDATE;
    END IF;
    FOR item IN SELECT * FROM jsonb_to_recordset(p_events) AS x(id uuid, ts timestamptz, loop_id uuid,
        kind idetic.event_kind, visibility idetic.event_visibility, content text, metadata jsonb,
        salt text, ltm jsonb)
    LOOP
        content_hash := sha256(decode(item.salt, 'hex') || convert_to(item.content, 'UTF8')
            || '\x00'::bytea || convert_to(item.metadata::text, 'UTF8'));
        next_link := sha256(link || idetic.event_link_v1(last + 1, item.id, item.ts, item.loop_id,
            item.kind, item.visibility, content_hash));
        -- The unique key says whether the id is taken; a look before would be the planner's choice
        -- of an index (see ltm).
        INSERT INTO @family.log (tenant, agent_id, position, event_id, ts, loop_id, kind, visibility,
            content, metadata, salt, content_hash, prev_hash, hash)
        VALUES (p_tenant, p_agent, last + 1, item.id, item.ts, item.loop_id, item.kind,
            item.visibility, item.content, item.metadata, decode(item.salt, 'hex'), content_hash,
            link, next_link)
        ON CONFLICT (tenant, agent_id, event_id) DO NOTHING;
        IF NOT FOUND THEN
            SELECT l.position, l.hash, l.ts, l.content = item.content AND l.metadata = item.metadata
                AND l.kind = item.kind AND l.visibility = item.visibility
                AND l.loop_id = item.loop_id AS same
            INTO held FROM @family.log AS l
            WHERE l.tenant = p_tenant AND l.agent_id = p_agent AND l.event_id = item.id;
            IF held.same IS NOT TRUE THEN
                RAISE EXCEPTION 'idetic.idempotency_conflict: this event id was used with another content'
                    USING ERRCODE = 'ID002';
            END IF;
            positions := array_append(positions, held.position);
            hashes := array_append(hashes, held.hash);
            moments := array_append(moments, held.ts);
            CONTINUE;
        END IF;
        last := last + 1;
        link := next_link;
        positions := array_append(positions, last);
        hashes := array_append(hashes, link);
        moments := array_append(moments, item.ts);
        IF item.ltm IS NOT NULL THEN
            items := array_append(items, item.ltm || jsonb_build_object('position', last));
        END IF;
    END LOOP;
    UPDATE @family.heads AS h SET position = last, hash = link
    WHERE h.tenant = p_tenant AND h.agent_id = p_agent;
    IF cardinality(items) > 0 THEN
        BEGIN
            PERFORM @family.derive_v1(p_tenant, p_agent, to_jsonb(items));
            derived := true;
        EXCEPTION WHEN OTHERS THEN
            derived := false;
        END;
    END IF;
    RETURN QUERY SELECT a.p, a.h, a.t, derived FROM unnest(positions, hashes, moments) AS a(p, h, t);
END
$$;
REVOKE ALL ON FUNCTION @family.derive_v1(text, text, jsonb),
    @family.append_v1(text, text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @family.derive_v1(text, text, jsonb),
    @family.append_v1(text, text, jsonb) TO @family;

GRANT SELECT, INSERT ON @family.log, @family.heads, @family.ltm, @family.vectors, @family.stm TO @family;
GRANT UPDATE (position, hash) ON @family.heads TO @family;
GRANT UPDATE (summary, lexemes, substance, importance, derivation, status, attempts, last_error)
    ON @family.ltm TO @family;
GRANT UPDATE (embedding) ON @family.vectors TO @family;
GRANT UPDATE (ts, summary, ltm_ids, kinds, visibilities) ON @family.stm TO @family;
$ddl$;
BEGIN
    FOREACH family IN ARRAY ARRAY['idetic_actor', 'idetic_subconscious'] LOOP
        EXECUTE replace(replace(ddl, '@family', family), '@vector', vector_schema);
    END LOOP;
END
$do$;

-- The one channel back: what the Subconscious tells the Actor, behind a gate of the application
-- (persona/notes.py). The Actor reads it and cannot write it; nobody changes it.
CREATE TABLE idetic_actor.operational_notes (
    tenant text NOT NULL,
    agent_id text NOT NULL,
    note_id uuid NOT NULL,
    ts timestamptz NOT NULL,
    body idetic.ltm_summary NOT NULL,
    CONSTRAINT operational_notes_pkey PRIMARY KEY (tenant, agent_id, note_id)
);
CREATE TRIGGER append_only BEFORE DELETE ON idetic_actor.operational_notes
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE TRIGGER only_emptied BEFORE UPDATE ON idetic_actor.operational_notes
    FOR EACH ROW EXECUTE FUNCTION idetic.note_emptied_v1();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON idetic_actor.operational_notes
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();

-- Who may do what. The Actor's role has no right whatever in the other schema. The Subconscious
-- reads both, and writes its own and the notes. The application's own role has neither: it can only
-- become one of them.
GRANT SELECT ON idetic_actor.operational_notes TO idetic_actor;
GRANT USAGE ON SCHEMA idetic_actor TO idetic_subconscious;
GRANT SELECT ON ALL TABLES IN SCHEMA idetic_actor TO idetic_subconscious;
GRANT INSERT ON idetic_actor.operational_notes TO idetic_subconscious;

-- Notes that name somebody who is to be forgotten are emptied like events.
GRANT SELECT, UPDATE (body) ON idetic_actor.operational_notes TO idetic_keeper;
CREATE FUNCTION idetic_actor.erase_notes_v1(p_tenant text, p_agent text, p_notes uuid[])
RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY UPDATE idetic_actor.operational_notes AS n SET body = '[erased]'
    WHERE n.tenant = p_tenant AND n.agent_id = p_agent AND n.note_id = ANY (p_notes)
    RETURNING n.note_id;
END
$$;
REVOKE ALL ON FUNCTION idetic_actor.erase_notes_v1(text, text, uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION idetic_actor.erase_notes_v1(text, text, uuid[]) TO idetic_app;
GRANT CREATE ON SCHEMA idetic_actor TO idetic_keeper;
ALTER FUNCTION idetic_actor.erase_notes_v1(text, text, uuid[]) OWNER TO idetic_keeper;
REVOKE CREATE ON SCHEMA idetic_actor FROM idetic_keeper;

-- Row-level security, as in every family: the scope's tenant and agent, and nothing when it is
-- unset. What the Subconscious may do in the Actor's tables is the grants' business.
DO $do$
DECLARE
    found record;
    bound text := $policy$
        tenant = CASE WHEN split_part(current_setting('idetic.scope', true), chr(31), 1) = 'persona'
            THEN nullif(nullif(split_part(current_setting('idetic.scope', true), chr(31), 2), ''), '*') END
        AND agent_id = nullif(nullif(split_part(current_setting('idetic.scope', true), chr(31), 3), ''), '*')
    $policy$;
BEGIN
    FOR found IN SELECT c.oid::regclass AS named, n.nspname FROM pg_class AS c
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('idetic_actor', 'idetic_subconscious') AND c.relkind = 'r'
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', found.named);
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', found.named);
        EXECUTE format('CREATE POLICY agent_scope ON %s FOR ALL TO %s USING (%s) WITH CHECK (%s)',
            found.named, CASE found.nspname WHEN 'idetic_actor'
                THEN 'idetic_actor, idetic_subconscious, idetic_keeper'
                ELSE 'idetic_subconscious, idetic_keeper' END, bound, bound);
    END LOOP;
END
$do$;
GRANT EXECUTE ON FUNCTION idetic.event_link_v1 TO idetic_actor, idetic_subconscious, idetic_app;
