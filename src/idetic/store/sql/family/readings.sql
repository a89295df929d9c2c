-- object: function {family}_spelled_v1
-- A text in its bare words: compatibility forms folded (NFKC), invisible characters and stray
-- combining marks removed, marks of emphasis inside words taken out, letters that stand apart
-- drawn together, and everything between words one space. What pg_trgm overlooks by itself (case,
-- punctuation) is overlooked here too; what it does not is what a copy is decorated with.
CREATE OR REPLACE FUNCTION {spelled}(p_text text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    said text := p_text;
BEGIN
    IF octet_length(said) <> char_length(said) THEN
        said := regexp_replace(normalize(said, NFKC),
            '[\u00AD\u0300-\u036F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u1AB0-\u1AFF'
            '\u1DC0-\u1DFF\u200B-\u200F\u202A-\u202E\u2060-\u206F\u20D0-\u20FF\u3164'
            '\uFE00-\uFE0F\uFE20-\uFE2F\uFEFF\uFFA0\uFFF9-\uFFFB\U000E0000-\U000E0FFF]', '', 'g');
    END IF;
    said := lower(said);
    IF said ~ '[[:alnum:]][*~`|^\\]+[[:alnum:]]|</?[a-z]|\m[[:alnum:]][^[:alnum:]][[:alnum:]]\M' THEN
        said := regexp_replace(said, '</?[a-z][^<>]{{0,80}}>', '', 'g');
        said := regexp_replace(said, '(?<=[[:alnum:]])[*~`|^\\]+(?=[[:alnum:]])', '', 'g');
        said := regexp_replace(said,
            '(?<=\m[[:alnum:]])[^[:alnum:]](?=[[:alnum:]]\M)', '', 'g');
    END IF;
    RETURN btrim(regexp_replace(said,
        '[^0-9a-z\u00C0-\u1FFF\u2070-\u2FFF\u3040-\U0010FFFF]+', ' ', 'g'));
END
$$;

-- object: function {family}_readings_v1
-- The ways a note may be read: in its bare words and, where it holds letters beyond ASCII, with
-- accents taken off and look-alike letters taken for Latin ones. The look-alikes are read so only
-- in words that mix them with Latin letters or consist of nothing else, so that a text in Greek or
-- Russian stays one.
CREATE OR REPLACE FUNCTION {readings}(p_body text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    plain text := {spelled}(p_body);
    alike CONSTANT text := 'АВЕКМНОРСТУХІЈЅԌаеоорсухіјѕԁԛԝһӏкмнтвгΑΒΕΖΗΙΚΜΝΟΡΤΥΧαεικνορτυχγωɑɡıȷօոս';
    latin CONSTANT text := 'ABEKMHOPCTYXIJSGaeoopcyxijsdqwhlkmhtbrABEZHIKMNOPTYXaeikvoptuxywagijonu';
    bare text;
BEGIN
    IF octet_length(plain) = char_length(plain) THEN
        RETURN ARRAY[plain];
    END IF;
    SELECT {spelled}(string_agg(
        CASE WHEN w.word ~ '[A-Za-z]' OR translate(w.word, alike, '') !~ '[^\x01-\x7f]'
             THEN translate(w.word, alike, latin) ELSE w.word END, ' ' ORDER BY w.n))
    INTO bare
    FROM string_to_table(regexp_replace(normalize(regexp_replace(normalize(p_body, NFKC),
            '[\u00AD\u200B-\u200F\u2060-\u206F\uFEFF]', '', 'g'), NFKD),
        '[\u0300-\u036F]', '', 'g'), ' ') WITH ORDINALITY AS w(word, n);
    RETURN CASE WHEN bare = plain THEN ARRAY[plain] ELSE ARRAY[plain, bare] END;
END
$$;

-- object: function {family}_pieces_v1
-- A reading in pieces of at most 50 characters: whatever 100 characters of it were taken from
-- somewhere hold at least one whole piece. The last and shortest says too little to be asked about.
CREATE OR REPLACE FUNCTION {pieces}(p_reading text) RETURNS SETOF text
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 6 AS $$
    SELECT m[1] FROM regexp_matches(p_reading, '(.{{1,49}})(?: |$)', 'g') m
    WHERE char_length(m[1]) >= 20
$$;

-- object: function {family}_repeated_v1
-- What of a text other texts repeat, in runs of three words and more, in the order of the text.
CREATE OR REPLACE FUNCTION {repeated}(p_text text, p_others text[]) RETURNS text
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

-- object: function {family}_together_v1
-- Whether a note, alone or with earlier ones (id to bare words), repeats a canonical text in
-- pieces. What is compared is what they repeat of it, with the guard's own measure and bound: the
-- order of the pieces and what stands between them does not matter. The note itself has to bring
-- a fifth, or a word in passing would be refused for what was written before it.
CREATE OR REPLACE FUNCTION {together}(p_row text, p_readings text[], p_earlier jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    own text := {repeated}(p_row, p_readings);
    others text[];
    said real;
BEGIN
    IF char_length(own) < 0.2 * char_length(p_row) THEN
        RETURN NULL;
    END IF;
    said := {trgm_schema}.similarity(own, p_row);
    IF said > 0.85 THEN
        RETURN jsonb_build_object('similarity', said, 'how', 'quoted');
    END IF;
    SELECT array_agg(e.value) INTO others FROM jsonb_each_text(p_earlier) e;
    said := {trgm_schema}.similarity({repeated}(p_row, p_readings || others), p_row);
    IF said > 0.85 THEN
        RETURN jsonb_build_object('similarity', said, 'how', 'together', 'with', (
            SELECT jsonb_agg(e.key) FROM jsonb_each_text(p_earlier) e
            WHERE {repeated}(p_row, ARRAY[e.value]) <> ''));
    END IF;
    RETURN NULL;
END
$$;
