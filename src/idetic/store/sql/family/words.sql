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
    -- How far the chain had come when it was made, and with which neighbours.
    position bigint NOT NULL,
    neighbours text NOT NULL,
    -- How many entries, by cell too; their words, and their words with their neighbours'.
    entries integer NOT NULL,
    cells jsonb NOT NULL,
    own bigint NOT NULL,
    length bigint NOT NULL,
    -- The entries' ids in order, and some of them by chance: how near an entry is by chance.
    ids bytea NOT NULL,
    sample uuid[] NOT NULL,
    CONSTRAINT {name}_segments_pkey PRIMARY KEY ({tenant}, anchor_id, segment_id),
    CONSTRAINT {name}_segments_through UNIQUE ({tenant}, anchor_id, through)
);
-- Not compressed, so that one id is read without the others.
ALTER TABLE {family}_memory_segments ALTER COLUMN ids SET STORAGE EXTERNAL;

-- object: table {name}_memory_words
-- Where a word stands: of each entry of the segment that has it, itself or by its neighbours, four
-- bytes: two for its place among the segment's ids, how often it has it, how long it is.
CREATE TABLE {family}_memory_words (
    {tenant} {tenant_type} NOT NULL,
    anchor_id uuid NOT NULL,
    segment_id uuid NOT NULL,
    lexeme text NOT NULL,
    postings bytea NOT NULL,
    CONSTRAINT {name}_words_pkey PRIMARY KEY ({tenant}, anchor_id, segment_id, lexeme)
);

-- object: index {name}_memory_place
-- An entry's neighbours, on either side: those of the same interaction or session.
CREATE INDEX {name}_place_idx ON {family}_memory
    ({tenant}, anchor_id, ({place}), memory_id);

-- object: index {name}_memory_valid
-- What an anchor holds of a time that a question names.
CREATE INDEX {name}_valid_idx ON {family}_memory ({tenant}, anchor_id, valid_at);

-- object: function {name}_members_v1
-- The entries of a stretch of the chain that a question without filters finds, in the order of
-- their ids, each with its turn at its place and its length with its neighbours'. Neighbours beyond
-- the stretch do not count: what is nominated is scored with all of them. Whether an entry has an
-- earlier link is looked up: as an anti-join, tables that nobody has analysed yet are compared row by
-- row.
CREATE OR REPLACE FUNCTION {family}_members_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_after bigint, p_through bigint)
RETURNS TABLE (ord integer, memory_id uuid, place uuid, turn bigint, cell text, lexemes tsvector,
               own integer, length bigint)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT (row_number() OVER (ORDER BY b.memory_id) - 1)::integer, b.memory_id, b.place,
           row_number() OVER ordered, b.cell, b.lexemes, b.own,
           CASE WHEN b.own < {long_entry} AND sum(b.own) OVER around > b.own
                THEN b.own + sum(b.own) OVER around ELSE b.own END
    FROM (
        SELECT m.memory_id, {place_of_m} AS place,
               m.tier::text || '_' || m.typology::text AS cell, m.lexemes, pg_catalog.length(m.lexemes) AS own
        FROM {family}_memory m
        WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND {recalled} AND m.memory_id = ANY (ARRAY(
            SELECT l.memory_id FROM {family}_memory_ledger l
            WHERE l.{tenant} = p_tenant AND l.anchor_id = p_anchor AND l.position > p_after
              AND l.position <= p_through AND l.memory_id IS NOT NULL AND (
                SELECT true FROM {family}_memory_ledger f
                WHERE f.{tenant} = p_tenant AND f.anchor_id = p_anchor
                  AND f.memory_id = l.memory_id AND f.position <= p_after LIMIT 1) IS NULL))) b
    WINDOW ordered AS (PARTITION BY b.place ORDER BY b.memory_id),
           around AS (ordered ROWS BETWEEN {before} PRECEDING AND {after} FOLLOWING);
END
$$;

-- object: function {name}_postings_v1
-- The words of a stretch of the chain: as recall counts them, for an entry and its neighbours, with
-- its own words twice. Lengths are kept by their logarithm: 4 percent are near enough to nominate.
CREATE OR REPLACE FUNCTION {family}_postings_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_after bigint, p_through bigint)
RETURNS TABLE (lexeme text, postings bytea)
LANGUAGE plpgsql STABLE SET enable_nestloop = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH said AS MATERIALIZED (
        SELECT * FROM {family}_members_v1(p_tenant, p_anchor, p_after, p_through)
    ), spoken AS (
        SELECT s.place, s.turn, w.lexeme, cardinality(w.positions) AS tf
        FROM said s CROSS JOIN unnest(s.lexemes) AS w
    ), counted AS (
        SELECT b.ord, b.length, w.lexeme,
               sum(w.tf * CASE WHEN w.step = 0 AND b.length > b.own THEN 2 ELSE 1 END) AS tf
        FROM (SELECT s.*, s.turn + step AS met, step
              FROM spoken s CROSS JOIN generate_series(-{after}, {before}) AS step) w
        JOIN said b ON b.place = w.place AND b.turn = w.met AND (w.step = 0 OR b.own < {long_entry})
        GROUP BY b.ord, b.length, w.lexeme
    )
    SELECT c.lexeme, string_agg(int4send(c.ord * 65536 + least(c.tf, 255)::integer * 256
        + least(round(24 * ln(1 + c.length)), 255)::integer), '' ORDER BY c.ord)
    FROM counted c GROUP BY c.lexeme;
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
        neighbours, entries, cells, own, length, ids, sample)
    SELECT p_tenant, p_anchor, made, p_after, p_through, p_position, '{before} {after} {long_entry}',
        count(*), (SELECT coalesce(jsonb_object_agg(c.cell, c.entries), '{}') FROM (
            SELECT n.cell, count(*) AS entries
            FROM {family}_members_v1(p_tenant, p_anchor, p_after, p_through) n GROUP BY n.cell) c),
        coalesce(sum(m.own), 0), coalesce(sum(m.length), 0),
        coalesce(string_agg(uuid_send(m.memory_id), '' ORDER BY m.ord), ''),
        coalesce((array_agg(m.memory_id ORDER BY md5(m.memory_id::text)))[1:640], '{}')
    FROM {family}_members_v1(p_tenant, p_anchor, p_after, p_through) m;
    INSERT INTO {family}_memory_words ({tenant}, anchor_id, segment_id, lexeme, postings)
    SELECT p_tenant, p_anchor, made, w.lexeme, w.postings
    FROM {family}_postings_v1(p_tenant, p_anchor, p_after, p_through) w;
    GET DIAGNOSTICS found = ROW_COUNT;
    RETURN found;
END
$$;
GRANT EXECUTE ON FUNCTION {family}_index_v1 TO {writers};
