-- if guarded:
-- object: function {name}_spelled_v1
-- A text in its bare words: what `idetic.folding.words` makes of it, to the letter (a test compares
-- them). Compatibility forms folded, accents and what shows nothing removed, look-alike letters
-- taken for Latin ones, marks of emphasis inside words taken out, everything between words one space.
-- Casing is ASCII's and the table's: a database's own locale must make no difference.
-- Plain ASCII without any of it, which is nearly every note, takes no regular expression: they
-- were most of the cost.
CREATE OR REPLACE FUNCTION {family}_spelled_v1(p_text text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    said text := p_text;
    strange text;
BEGIN
    IF octet_length(said) <> char_length(said) THEN
        said := regexp_replace(normalize(regexp_replace(normalize(said, NFKD),
            '[{hidden}]', '', 'g'), NFKC), '[{points}]', ' ', 'g');
        IF octet_length(said) <> char_length(said) THEN
            said := translate(said, '{alike}', '{latin}');
        END IF;
    END IF;
    said := lower(said COLLATE "C");
    -- What is no letter of ours: a few characters, in stretches that are found three times as fast as
    -- letters are translated one by one.
    strange := regexp_replace(said, '[ a-z0-9]+', '', 'g');
    IF strange ~ '[*~`|^\\<]' THEN
        said := regexp_replace(said, '{tag}', '', 'g');
        said := regexp_replace(said, '(?<=[{letters}]){emphasis}(?=[{letters}])', '', 'g');
    END IF;
    IF char_length(strange) > 16 OR strange ~ '[^\t-\r!-~]' THEN
        RETURN btrim(regexp_replace(regexp_replace(said, '[{hidden}]', '', 'g'),
            '[^{letters}]+', ' ', 'g'));
    END IF;
    said := translate(said, strange, repeat(' ', char_length(strange)));
    WHILE strpos(said, '  ') > 0 LOOP
        said := replace(said, '  ', ' ');
    END LOOP;
    RETURN btrim(said);
END
$$;

-- object: function {name}_texts_v1
-- Every text of an entry, one by one, and where there are several, all of them together at the end:
-- what the gate of a part lets pass may be told by the whole. This is the one place that says what
-- the guard looks at.
CREATE OR REPLACE FUNCTION {family}_texts_v1(p_body text, p_envelope jsonb, p_provenance jsonb)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    told jsonb;
    found text[] := '{}';
BEGIN
    IF coalesce(p_envelope, '{}') = '{}' AND coalesce(p_provenance, '{}') = '{}' THEN
        RETURN ARRAY[p_body];
    END IF;
    told := jsonb_path_query_array(jsonb_build_array(
        p_envelope -> 'claim', p_envelope - 'claim', p_provenance),
        'strict $.** ? (@.type() == "string")');
    -- One by one: a query of them would be a statement for each note.
    FOR n IN 0 .. jsonb_array_length(told) - 1 LOOP
        found := found || (told ->> n);
    END LOOP;
    IF found = '{}' THEN
        RETURN ARRAY[p_body];
    END IF;
    RETURN p_body || found || array_to_string(p_body || found, ' ');
END
$$;

-- object: function {name}_readings_v1
-- Some texts in their bare words, in their order. If the last is the others together, as `texts`
-- makes it, and nothing in it can reach over a space, its words are theirs.
CREATE OR REPLACE FUNCTION {family}_readings_v1(p_texts text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    many CONSTANT integer := cardinality(p_texts);
    one text;
    found text[] := '{}';
BEGIN
    FOREACH one IN ARRAY p_texts LOOP
        IF many > 1 AND cardinality(found) = many - 1 AND octet_length(one) = char_length(one)
            AND one !~ '[*~`|^\\<]'
            AND one = array_to_string(p_texts[: many - 1], ' ') THEN
            RETURN found || array_to_string(array_remove(found, ''), ' ');
        END IF;
        found := found || {family}_spelled_v1(one);
    END LOOP;
    RETURN found;
END
$$;

-- object: function {name}_prints_v1
-- The fingerprints of texts in their bare words, within a scope: one of each as a whole, and of the
-- last, which holds them all, runs of twenty letters. Letters, not words: a space that is missing,
-- put in or replaced by a capital changes nothing. A run begins with an e, and three of four are
-- kept. Which ones the run itself decides, so two texts that share a run agree about it; whatever 100
-- characters they share hold about six. Where other scripts are, and an e may not be, an eighth of
-- all runs is kept as well.
-- In blocks: the time that substr takes grows with the place that it looks at.
CREATE OR REPLACE FUNCTION {family}_prints_v1(p_spelled text[], p_scope text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    bare text := replace(p_spelled[cardinality(p_spelled)], ' ', '');
    found bigint[] := '{}';
    block text;
    one text;
    print bigint;
    here integer;
    last integer;
BEGIN
    FOREACH one IN ARRAY p_spelled LOOP
        found := found || hashtextextended(p_scope || '=' || replace(one, ' ', ''), 0);
    END LOOP;
    FOR start IN 1 .. char_length(bare) - 19 BY 400 LOOP
        block := substr(bare, start, 419);
        last := char_length(block) - 19;
        here := 0;
        FOREACH one IN ARRAY string_to_array(block, 'e') LOOP
            here := here + char_length(one) + 1;
            EXIT WHEN here > last;
            print := hashtextextended(p_scope || substr(block, here, 20), 0);
            IF print & 3 > 0 THEN
                found := found || print;
            END IF;
        END LOOP;
        CONTINUE WHEN octet_length(block) = last + 19;
        FOR n IN 1 .. last LOOP
            print := hashtextextended(p_scope || substr(block, n, 20), 0);
            IF print & 7 = 0 THEN
                found := found || print;
            END IF;
        END LOOP;
    END LOOP;
    RETURN found;
END
$$;

-- object: function {name}_repeated_v1
-- What of a text other texts repeat, in runs of three words and more, in the order of the text.
-- Their letters are compared, so it does not matter where the others put their spaces.
CREATE OR REPLACE FUNCTION {family}_repeated_v1(p_text text, p_others text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    WITH word AS (
        SELECT w.word, w.n FROM string_to_table(p_text, ' ') WITH ORDINALITY AS w(word, n)
    ), other AS MATERIALIZED (
        SELECT replace(array_to_string(p_others, '|'), ' ', '') AS said
    ), run AS (
        SELECT n, concat(word, lead(word) OVER s, lead(word, 2) OVER s) AS said,
            lead(word, 2) OVER s IS NOT NULL AS whole
        FROM word WINDOW s AS (ORDER BY n)
    ), told AS MATERIALIZED (
        SELECT run.n FROM run, other WHERE run.whole AND strpos(other.said, run.said) > 0
    )
    SELECT coalesce(string_agg(word.word, ' ' ORDER BY word.n), '') FROM word
    WHERE EXISTS (SELECT FROM told WHERE word.n BETWEEN told.n AND told.n + 2)
$$;

-- object: function {name}_compared_v1
-- How a note, in each of its readings, repeats one canonical text, if it does; `p_own` is what it
-- repeats of it in runs, `p_quotes` whether a part of the note counts. Word similarity is asked
-- last, of notes that repeat two fifths at least: it takes a millisecond and more for a long note.
CREATE OR REPLACE FUNCTION {family}_compared_v1(p_row text, p_own text, p_readings text[], p_quotes boolean)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    reading text;
    long integer := char_length(p_row);
    row_bare text := replace(p_row, ' ', '');
    bare text;
    spaced real;
    said real;
BEGIN
    FOREACH reading IN ARRAY p_readings LOOP
        bare := replace(reading, ' ', '');
        IF bare = row_bare THEN
            RETURN jsonb_build_object('similarity', 1, 'how',
                CASE WHEN long < 100 THEN 'verbatim' ELSE 'decorated' END);
        END IF;
        -- How long it would be with the row's own spaces.
        spaced := char_length(bare) * long::real / char_length(row_bare);
        CONTINUE WHEN spaced < 100 OR spaced > long * 1.5;
        said := {trgm}.similarity(p_row, reading);
        -- Other spaces than the row's: then the letters decide.
        IF said <= 0.85 AND abs(char_length(reading) - spaced) > 0.05 * spaced THEN
            said := {trgm}.similarity(row_bare, bare);
        END IF;
        IF said > 0.85 THEN
            RETURN jsonb_build_object('similarity', said, 'how', 'decorated');
        END IF;
    END LOOP;
    IF NOT p_quotes OR char_length(p_own) < 0.4 * long THEN
        RETURN NULL;
    END IF;
    -- In pieces: their order and what stands between them does not matter.
    said := {trgm}.similarity(p_own, p_row);
    FOREACH reading IN ARRAY p_readings LOOP
        EXIT WHEN said > 0.85;
        said := {trgm}.word_similarity(p_row, reading);
    END LOOP;
    RETURN CASE WHEN said > 0.85 THEN jsonb_build_object('similarity', said, 'how', 'quoted') END;
END
$$;

-- object: function {name}_earlier_v1
-- What was written at an anchor since a moment and may repeat a part of a canonical text: id to bare
-- words. Of the last 256 entries, the last four and those that share most of the text's longer words,
-- which is known without reading them; 8,000 characters in all, or a note would pay for every long
-- note before it.
CREATE OR REPLACE FUNCTION {family}_earlier_v1(p_tenant {tenant_type}, p_anchor uuid, p_row text,
    p_since timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    sought tsquery;
    found jsonb;
BEGIN
    SELECT to_tsquery('pg_catalog.english', string_agg(quote_literal(w.word), ' | ')) INTO sought
    FROM string_to_table(p_row, ' ') AS w(word) WHERE char_length(w.word) >= 6;
    SELECT coalesce(jsonb_object_agg(m.memory_id, {family}_spelled_v1(array_to_string(
        {family}_texts_v1(m.body_text, m.envelope, m.provenance), ' '))), '{}') INTO found
    FROM (SELECT m.*, sum(char_length(m.body_text)) OVER (
                ORDER BY m.place > 4, ts_rank(m.lexemes, sought) DESC, m.place) AS characters
          FROM (SELECT m.*, row_number() OVER (ORDER BY m.memory_id DESC) AS place
                FROM {family}_memory m WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor
                ORDER BY m.memory_id DESC LIMIT 256) AS m
          WHERE m.created_at > p_since AND m.archived_at IS NULL AND m.superseded_at IS NULL
            AND m.deleted_at IS NULL AND (m.place <= 4 OR m.lexemes @@ sought)) AS m
    WHERE m.characters <= 8000;
    RETURN found;
END
$$;

-- object: function {name}_together_v1
-- Whether a note and earlier ones (id to bare words) together repeat a canonical text. What is
-- compared is what they repeat of it, with the guard's own measure and bound. The caller has seen
-- that the note itself brings a tenth: a word in passing is not refused for what came before it.
CREATE OR REPLACE FUNCTION {family}_together_v1(p_row text, p_readings text[], p_earlier jsonb)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    others text[];
    said real;
BEGIN
    SELECT array_agg(e.value) INTO others FROM jsonb_each_text(p_earlier) e;
    said := {trgm}.similarity({family}_repeated_v1(p_row, p_readings || others), p_row);
    IF said > 0.85 THEN
        RETURN jsonb_build_object('similarity', said, 'how', 'together', 'with', (
            SELECT jsonb_agg(e.key) FROM jsonb_each_text(p_earlier) e
            WHERE {family}_repeated_v1(p_row, ARRAY[e.value]) <> ''));
    END IF;
    RETURN NULL;
END
$$;
-- end
