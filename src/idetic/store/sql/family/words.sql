-- object: table {name}_memory_segments
-- A stretch of an anchor's chain whose entries the word index holds: those whose first link comes
-- after one position and through another. A segment is never changed: one that has to be is made
-- anew under another id. Positions that no segment covers are read from the entries themselves.
CREATE TABLE {family}_memory_segments (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    segment_id uuid NOT NULL,
    after bigint NOT NULL,
    through bigint NOT NULL,
    -- How far the chain had come when it was made.
    position bigint NOT NULL,
    -- How many entries, by cell too.
    entries integer NOT NULL,
    cells jsonb NOT NULL,
    -- The entries in order: their ids, four bytes each of `member`, their times, and who said them;
    -- and the places, one for each that begins.
    ids bytea NOT NULL,
    members bytea NOT NULL,
    times bytea NOT NULL,
    speakers text NOT NULL,
    places bytea NOT NULL,
    CONSTRAINT {name}_segments_pkey PRIMARY KEY ({tenant}, anchor_id, segment_id),
    CONSTRAINT {name}_segments_through UNIQUE ({tenant}, anchor_id, through)
);

-- object: table {name}_memory_words
-- Where a word stands: four bytes for each entry of the segment that has it, its place in the
-- segment's order times 256 and how often it has it.
CREATE TABLE {family}_memory_words (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    segment_id uuid NOT NULL,
    lexeme text NOT NULL,
    postings bytea NOT NULL,
    CONSTRAINT {name}_words_pkey PRIMARY KEY ({tenant}, anchor_id, segment_id, lexeme)
);

-- object: index {name}_memory_place
-- An entry's neighbours, on either side: those of the same interaction or session. The condition
-- holds for every row: without one, the planner takes this index for the look-up of an id in tables
-- that nobody has analysed yet, foreign keys' too, and reads the anchor for each.
CREATE INDEX {name}_place_idx ON {family}_memory
    ({tenant}, anchor_id, ({place}), memory_id) WHERE ({place}) IS NOT NULL;

-- object: index {name}_memory_valid
-- What an anchor holds of a time that a question names. With a condition, as the one before.
CREATE INDEX {name}_valid_idx ON {family}_memory ({tenant}, anchor_id, valid_at)
    WHERE valid_at IS NOT NULL;

-- object: function {name}_members_v1
-- The entries of a stretch of the chain that a question without filters finds, in the order of
-- their places and ids: neighbours stand side by side. Whether an entry has an earlier link is
-- looked up: as an anti-join, tables that nobody has analysed yet are compared row by row.
CREATE OR REPLACE FUNCTION {family}_members_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_after bigint, p_through bigint)
RETURNS TABLE (ord bigint, memory_id uuid, cell text, member integer, times bytea, speaker text,
    place uuid, lexemes tsvector)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT row_number() OVER ordered - 1, m.memory_id, m.tier::text || '_' || m.typology::text,
           {packed} + (lag(m.place) OVER ordered IS DISTINCT FROM m.place)::integer, {times}, {speaker},
           m.place, m.lexemes
    FROM (
        SELECT m.*, {place_of_m} AS place FROM {family}_memory m
        WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND {recalled} AND m.memory_id = ANY (ARRAY(
            SELECT l.memory_id FROM {family}_memory_ledger l
            WHERE l.{tenant} = p_tenant AND l.anchor_id = p_anchor AND l.position > p_after
              AND l.position <= p_through AND l.memory_id IS NOT NULL AND (
                SELECT true FROM {family}_memory_ledger f
                WHERE f.{tenant} = p_tenant AND f.anchor_id = p_anchor
                  AND f.memory_id = l.memory_id AND f.position <= p_after LIMIT 1) IS NULL))) m
    WINDOW ordered AS (ORDER BY m.place, m.memory_id);
END
$$;

-- object: function {name}_postings_v1
-- The words of a stretch of the chain: of each, who has it and how often.
CREATE OR REPLACE FUNCTION {family}_postings_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_after bigint, p_through bigint)
RETURNS TABLE (lexeme text, postings bytea)
LANGUAGE plpgsql STABLE SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT w.lexeme, string_agg(int4send((m.ord * 256 + least(cardinality(w.positions), 255))::integer),
                                '' ORDER BY m.ord)
    FROM {family}_members_v1(p_tenant, p_anchor, p_after, p_through) m CROSS JOIN unnest(m.lexemes) AS w
    GROUP BY w.lexeme;
END
$$;

-- object: function {name}_reindexed_v1
-- The word index follows the entries: the keeper's functions make it anew, and nobody else.
CREATE OR REPLACE FUNCTION {family}_reindexed_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF current_user <> 'idetic_keeper' THEN
        RAISE EXCEPTION 'idetic.append_only: % on %.% is refused', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
            USING ERRCODE = 'ID001';
    END IF;
    RETURN OLD;
END
$$;

-- object: function {name}_unindex_v1
-- as: keeper
-- Take the segments out of the word index that hold any of these entries, or all that overlap a
-- stretch of the chain. The lock keeps whoever indexes from adding what is being erased: either
-- waits for the other's commit.
CREATE OR REPLACE FUNCTION {family}_unindex_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_ids uuid[], p_after bigint, p_through bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    firsts bigint[];
    gone uuid[];
BEGIN
    IF NOT idetic.is_bound_v1(p_tenant::text, p_anchor) THEN
        RAISE EXCEPTION 'idetic.entry_not_found: this anchor is not bound' USING ERRCODE = 'ID006';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('{family_text} words ' || p_anchor::text, 0));
    firsts := ARRAY(SELECT min(l.position) FROM {family}_memory_ledger l
                    WHERE l.{tenant} = p_tenant AND l.anchor_id = p_anchor
                      AND l.memory_id = ANY (p_ids) GROUP BY l.memory_id);
    gone := ARRAY(
        SELECT s.segment_id FROM {family}_memory_segments s
        WHERE s.{tenant} = p_tenant AND s.anchor_id = p_anchor AND (
            s.through > p_after AND s.after < p_through
            OR EXISTS (SELECT FROM unnest(firsts) AS first WHERE first > s.after AND first <= s.through)));
    DELETE FROM {family}_memory_words w
    WHERE w.{tenant} = p_tenant AND w.anchor_id = p_anchor AND w.segment_id = ANY (gone);
    DELETE FROM {family}_memory_segments s
    WHERE s.{tenant} = p_tenant AND s.anchor_id = p_anchor AND s.segment_id = ANY (gone);
    RETURN cardinality(gone);
END
$$;
GRANT EXECUTE ON FUNCTION {family}_unindex_v1 TO {writers};

-- object: function {name}_index_v1
-- as: keeper
-- Index a stretch of the chain as one segment, in place of what overlaps it. `p_position` is how far
-- the chain had come before this was called: what is told of these entries after it is not sure to
-- be in here.
CREATE OR REPLACE FUNCTION {family}_index_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_after bigint, p_through bigint, p_position bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made uuid := gen_random_uuid();
    found integer;
BEGIN
    PERFORM {family}_unindex_v1(p_tenant, p_anchor, NULL, p_after, p_through);
    INSERT INTO {family}_memory_segments ({tenant}, anchor_id, segment_id, after, through, position,
        entries, cells, ids, members, times, speakers, places)
    SELECT p_tenant, p_anchor, made, p_after, p_through, p_position, count(*),
        (SELECT coalesce(jsonb_object_agg(c.cell, c.entries), '{}') FROM (
            SELECT n.cell, count(*) AS entries
            FROM {family}_members_v1(p_tenant, p_anchor, p_after, p_through) n GROUP BY n.cell) c),
        coalesce(string_agg(uuid_send(m.memory_id), '' ORDER BY m.ord), ''),
        coalesce(string_agg(int4send(m.member), '' ORDER BY m.ord), ''),
        coalesce(string_agg(m.times, '' ORDER BY m.ord), ''),
        coalesce(string_agg(m.speaker, chr(31) ORDER BY m.ord), ''),
        coalesce(string_agg(uuid_send(m.place), '' ORDER BY m.ord) FILTER (WHERE m.member & 1 = 1), '')
    FROM {family}_members_v1(p_tenant, p_anchor, p_after, p_through) m;
    INSERT INTO {family}_memory_words ({tenant}, anchor_id, segment_id, lexeme, postings)
    SELECT p_tenant, p_anchor, made, w.lexeme, w.postings
    FROM {family}_postings_v1(p_tenant, p_anchor, p_after, p_through) w;
    GET DIAGNOSTICS found = ROW_COUNT;
    RETURN found;
END
$$;
GRANT EXECUTE ON FUNCTION {family}_index_v1 TO {writers};
