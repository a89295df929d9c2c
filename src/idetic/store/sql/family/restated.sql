-- object: function {family}_{noun}_suspects_v1
-- as: guard
-- Which notes of a call (by number) share a run of words with some canonical row and so deserve
-- a closer look. By key, and in one statement for all of them.
CREATE OR REPLACE FUNCTION {suspects}(p_tenant {tenant_type}, {shadow_scope_param} p_items jsonb)
RETURNS integer[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    suspicious integer[];
BEGIN
    IF p_tenant IS DISTINCT FROM {bound_tenant} THEN
        RETURN NULL;
    END IF;
    PERFORM FROM {prints_table} c WHERE c.{tenant} = p_tenant LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(DISTINCT x.n::integer) INTO suspicious
    FROM jsonb_array_elements(p_items) WITH ORDINALITY AS x(item, n),
        unnest({readings}(x.item ->> 'body')) AS r(reading),
        unnest({prints}(r.reading, {print_scope_p})) AS p(print),
        LATERAL (SELECT FROM {prints_table} c
                 WHERE c.{tenant} = p_tenant AND c.print = p.print LIMIT 1) AS hit;
    RETURN suspicious;
END
$$;
REVOKE EXECUTE ON FUNCTION {suspects} FROM PUBLIC;
GRANT EXECUTE ON FUNCTION {suspects} TO idetic_app;

-- object: function {family}_{noun}_restated_v1
-- as: guard
-- The canonical row that a note restates, if there is one, and how:
--   copied     as the trigger would find it
--   verbatim   it is a row's text, word for word and nothing else, however short
--   decorated  its bare words are a copy, with the trigger's own measure, bound and floor
--   quoted     a part of it is a copy of a row of 100 characters or more (word similarity)
--   together   it and what the same writer wrote before it, in this session, repeat such a row
--   near       the writer was refused too often over this row, and the note still is half of it
-- Asked of the eight rows that share most runs with it. A run that more than 64 rows share tells
-- little about any of them; for a decorated copy of such a row the trigram index is asked too.
-- Quoted and together are the primary calibration's; as a backstop the guard leaves them to the
-- agent's own discipline. The numbers are the contract's, but for `near` (see decision 0019).
CREATE OR REPLACE FUNCTION {restated}({anchor_params}, {shadow_scope_param} p_body text,
    p_writer text, p_session uuid, p_spent uuid[])
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    readings text[] := {readings}(p_body);
    known record;
    earlier jsonb;
    common boolean := false;
    -- Whether the trigger would see the same words.
    plain boolean := {trgm_schema}.similarity(readings[1], p_body) = 1;
    hit jsonb;
BEGIN
    IF NOT coalesce({anchor_is_bound}, false) THEN
        RETURN NULL;
    END IF;
    FOR known IN
        WITH shared AS MATERIALIZED (
            SELECT c.id, count(*) AS runs, max(c.place) AS places
            FROM unnest(readings) AS r(reading),
                unnest({prints}(r.reading, {print_scope_p})) AS p(print),
                LATERAL (SELECT c.{canonical_id} AS id, row_number() OVER () AS place
                         FROM {prints_table} c
                         WHERE c.{tenant} = {tenant_p} AND c.print = p.print LIMIT 64) AS c
            GROUP BY c.id ORDER BY runs DESC LIMIT 8
        )
        SELECT c.id, c.spelled, c.long, s.places, {repeated}(c.spelled, readings) AS own
        FROM shared s, LATERAL (
            SELECT c.{canonical_id} AS id, {spelled}(c.{canonical_body}) AS spelled,
                char_length(c.{canonical_body}) >= 100 AS long
            FROM {canonical} c
            WHERE c.{tenant} = {tenant_p} {shadow_scope_is} AND c.{canonical_id} = s.id OFFSET 0) AS c
        -- A run or two of a long text is a turn of phrase.
        WHERE s.runs * 40 >= char_length(c.spelled) * 0.15
    LOOP
        common := common OR known.places = 64;
        hit := {compared}(known.spelled, known.own, readings, {primary} AND known.long);
        IF hit IS NULL AND {primary} AND known.long THEN
            IF earlier IS NULL THEN
                -- The latest notes of this writer here; the anchor's last 64 are looked through.
                SELECT coalesce(jsonb_object_agg(b.memory_id, b.said), '{{}}') INTO earlier
                FROM (SELECT m.memory_id, {spelled}(m.body_text) AS said
                      FROM (SELECT m.* FROM {memory} m WHERE {anchor_is_p_m}
                            ORDER BY m.memory_id DESC LIMIT 64) AS m
                      WHERE m.created_by = p_writer
                        AND (p_session IS NULL OR m.session_id = p_session)
                        AND m.archived_at IS NULL AND m.superseded_at IS NULL
                        AND m.deleted_at IS NULL
                      LIMIT 8) AS b;
            END IF;
            hit := {together}(known.spelled, known.own, readings, earlier);
        END IF;
        IF hit ->> 'how' = 'decorated' AND plain THEN
            hit := hit || jsonb_build_object('how', 'copied');
        END IF;
        IF hit IS NOT NULL THEN
            RETURN hit || jsonb_build_object('noun', {noun}, 'id', known.id);
        END IF;
    END LOOP;
    IF common AND NOT plain THEN
        hit := {shadow}({tenant_p}, {shadow_scope_value} readings[1]);
        IF hit IS NOT NULL THEN
            RETURN hit || jsonb_build_object('how', 'decorated');
        END IF;
    END IF;
    IF p_spent IS NOT NULL THEN
        SELECT jsonb_build_object('noun', {noun}, 'id', c.{canonical_id}, 'similarity', n.nearness,
                                  'how', 'near')
        INTO hit FROM {canonical} c, unnest(readings) AS r(reading), LATERAL (
            SELECT greatest({trgm_schema}.similarity(c.{canonical_body}, r.reading),
                            {trgm_schema}.word_similarity(c.{canonical_body}, r.reading)) AS nearness
        ) AS n
        WHERE c.{tenant} = {tenant_p} {shadow_scope_is} AND c.{canonical_id} = ANY (p_spent)
          AND n.nearness > 0.5
        LIMIT 1;
    END IF;
    RETURN hit;
END
$$;
REVOKE EXECUTE ON FUNCTION {restated} FROM PUBLIC;
GRANT EXECUTE ON FUNCTION {restated} TO idetic_app;
