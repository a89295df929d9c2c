-- if guarded:
-- object: function {name}_spelled_v1
-- A text in its bare words: compatibility forms folded (NFKC), invisible characters and stray
-- combining marks removed, marks of emphasis inside words taken out, letters that stand apart
-- drawn together, and everything between words one space. What pg_trgm overlooks by itself (case,
-- punctuation) is overlooked here too; what it does not is what a copy is decorated with.
-- Plain ASCII without any of it, which is nearly every note, takes no regular expression: they
-- were most of the cost.
CREATE OR REPLACE FUNCTION {family}_spelled_v1(p_text text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    said text := lower(p_text);
    plain text;
BEGIN
    IF octet_length(said) = char_length(said) THEN
        plain := translate(said, E'\t\n\r\v\f!"#$%&''()*+,-./:;<=>?@[\\]^_`{|}~', repeat(' ', 37));
        WHILE strpos(plain, '  ') > 0 LOOP
            plain := replace(plain, '  ', ' ');
        END LOOP;
        IF translate(said, '*~`|^\<', '') = said AND ' ' || plain || ' ' NOT LIKE '% _ _ _ %' THEN
            RETURN btrim(plain);
        END IF;
    ELSE
        said := lower(regexp_replace(normalize(p_text, NFKC),
            '[\u00AD\u0300-\u036F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u1AB0-\u1AFF'
            '\u1DC0-\u1DFF\u200B-\u200F\u202A-\u202E\u2060-\u206F\u20D0-\u20FF\u3164'
            '\uFE00-\uFE0F\uFE20-\uFE2F\uFEFF\uFFA0\uFFF9-\uFFFB\U000E0000-\U000E0FFF]', '', 'g'));
    END IF;
    said := regexp_replace(said, '</?[a-z][^<>]{0,80}>', '', 'g');
    said := regexp_replace(said, '(?<=[[:alnum:]])[*~`|^\\]+(?=[[:alnum:]])', '', 'g');
    said := regexp_replace(said, '(?<=\m[[:alnum:]])[^[:alnum:]](?=[[:alnum:]]\M)', '', 'g');
    RETURN btrim(regexp_replace(said,
        '[^0-9a-z\u00C0-\u1FFF\u2070-\u2FFF\u3040-\U0010FFFF]+', ' ', 'g'));
END
$$;

-- object: function {name}_readings_v1
-- The ways a note may be read: in its bare words and, where it holds letters beyond ASCII, with
-- accents taken off and look-alike letters taken for Latin ones. The look-alikes are read so only
-- in words that mix them with Latin letters or consist of nothing else, so that a text in Greek or
-- Russian stays one.
CREATE OR REPLACE FUNCTION {family}_readings_v1(p_body text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    plain text := {family}_spelled_v1(p_body);
    alike CONSTANT text := 'АВЕКМНОРСТУХІЈЅԌаеоорсухіјѕԁԛԝһӏкмнтвгΑΒΕΖΗΙΚΜΝΟΡΤΥΧαεικνορτυχγωɑɡıȷօոս';
    latin CONSTANT text := 'ABEKMHOPCTYXIJSGaeoopcyxijsdqwhlkmhtbrABEZHIKMNOPTYXaeikvoptuxywagijonu';
    bare text;
BEGIN
    IF octet_length(plain) = char_length(plain) THEN
        RETURN ARRAY[plain];
    END IF;
    SELECT {family}_spelled_v1(string_agg(
        CASE WHEN w.word ~ '[A-Za-z]' OR translate(w.word, alike, '') !~ '[^\x01-\x7f]'
             THEN translate(w.word, alike, latin) ELSE w.word END, ' ' ORDER BY w.n))
    INTO bare
    FROM string_to_table(regexp_replace(normalize(regexp_replace(normalize(p_body, NFKC),
            '[\u00AD\u200B-\u200F\u2060-\u206F\uFEFF]', '', 'g'), NFKD),
        '[\u0300-\u036F]', '', 'g'), ' ') WITH ORDINALITY AS w(word, n);
    RETURN CASE WHEN bare = plain THEN ARRAY[plain] ELSE ARRAY[plain, bare] END;
END
$$;

-- object: function {name}_prints_v1
-- The fingerprints of a text in its bare words, within a scope: one of the whole, and those of
-- half its runs of five words. Which half is decided by the print itself, so two texts that share a
-- run agree about it; whatever 100 characters they share hold a dozen runs and more.
CREATE OR REPLACE FUNCTION {family}_prints_v1(p_spelled text, p_scope text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    words text[] := string_to_array(p_spelled, ' ');
    found bigint[] := ARRAY[hashtextextended(p_scope || '=' || p_spelled, 0)];
    print bigint;
BEGIN
    FOR n IN 1 .. cardinality(words) - 4 LOOP
        print := hashtextextended(p_scope || array_to_string(words[n:n + 4], ' '), 0);
        IF print & 1 = 0 THEN
            found := found || print;
        END IF;
    END LOOP;
    RETURN found;
END
$$;

-- object: function {name}_repeated_v1
-- What of a text other texts repeat, in runs of three words and more, in the order of the text.
CREATE OR REPLACE FUNCTION {family}_repeated_v1(p_text text, p_others text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    WITH word AS (
        SELECT w.word, w.n FROM string_to_table(p_text, ' ') WITH ORDINALITY AS w(word, n)
    ), run AS (
        SELECT n, concat_ws(' ', word, lead(word) OVER s, lead(word, 2) OVER s) AS said,
            lead(word, 2) OVER s IS NOT NULL AS whole
        FROM word WINDOW s AS (ORDER BY n)
    ), told AS (
        SELECT run.n FROM run WHERE run.whole AND EXISTS (
            SELECT FROM unnest(p_others) o(other)
            WHERE strpos(' ' || o.other || ' ', ' ' || run.said || ' ') > 0)
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
    said real;
BEGIN
    FOREACH reading IN ARRAY p_readings LOOP
        IF reading = p_row THEN
            RETURN jsonb_build_object('similarity', 1, 'how',
                CASE WHEN char_length(reading) < 100 THEN 'verbatim' ELSE 'decorated' END);
        END IF;
        CONTINUE WHEN char_length(reading) < 100 OR char_length(reading) > long * 1.5;
        said := {trgm}.similarity(p_row, reading);
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

-- object: function {name}_together_v1
-- Whether a note and earlier ones (id to bare words) together repeat a canonical text. What is
-- compared is what they repeat of it, with the guard's own measure and bound. The note itself has
-- to bring a fifth, or a word in passing would be refused for what was written before it.
CREATE OR REPLACE FUNCTION {family}_together_v1(p_row text, p_own text, p_readings text[], p_earlier jsonb)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    others text[];
    said real;
BEGIN
    IF p_earlier = '{}' OR char_length(p_own) < 0.2 * char_length(p_row) THEN
        RETURN NULL;
    END IF;
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
