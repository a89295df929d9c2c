-- object: function {family}_{noun}_suspects_v1
-- as: guard
-- Which notes of a call (by number) hold a piece of some canonical row and so deserve a closer
-- look. One index look-up per piece: `%>` asks for rows that contain the piece, the direction a
-- trigram index can answer; whether the note then holds the row is asked of those rows only.
-- LIMIT 1 inside, so that a phrase that a thousand rules share costs no more than one.
CREATE OR REPLACE FUNCTION {suspects}(p_tenant {tenant_type}, {shadow_scope_param} p_items jsonb)
RETURNS integer[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET pg_trgm.word_similarity_threshold = 0.85
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    found integer[];
BEGIN
    IF p_tenant IS DISTINCT FROM {bound_tenant} THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(DISTINCT x.n::integer) INTO found
    FROM jsonb_array_elements(p_items) WITH ORDINALITY AS x(item, n),
        unnest({readings}(x.item ->> 'body')) AS r(reading),
        {pieces}(r.reading) AS k(piece),
        LATERAL (SELECT FROM {canonical} c
                 WHERE c.{tenant} = p_tenant {shadow_scope_is}
                   AND c.{canonical_body} OPERATOR({trgm_schema}.%>) k.piece LIMIT 1) AS hit;
    RETURN found;
END
$$;
REVOKE EXECUTE ON FUNCTION {suspects} FROM PUBLIC;
GRANT EXECUTE ON FUNCTION {suspects} TO idetic_app;

-- object: function {family}_{noun}_restated_v1
-- as: guard
-- The canonical row that a note restates in any way beyond the trigger's, if there is one:
--   decorated  its bare words are a copy: the trigger's own look-up and numbers
--   verbatim   it is a row's text, word for word and nothing else, however short
--   quoted     a part of it is a copy of a row of 100 characters or more (word similarity)
--   together   it and what the same writer wrote before it, in this session, repeat such a row
--   near       the writer was refused too often over this row, and the note still is about half of it
-- Quoted and together are the primary calibration's; as a backstop the guard leaves them to the
-- agent's own discipline. The numbers are the contract's, but for `near` (see decision 0019).
CREATE OR REPLACE FUNCTION {restated}({anchor_params}, {shadow_scope_param} p_body text,
    p_writer text, p_session uuid, p_spent uuid[])
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET pg_trgm.word_similarity_threshold = 0.85
SET plan_cache_mode = force_generic_plan
SET enable_sort = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
#variable_conflict use_column
DECLARE
    readings text[] := {readings}(p_body);
    reading text;
    row_found record;
    earlier jsonb;
    hit jsonb;
BEGIN
    IF NOT coalesce({anchor_is_bound}, false) THEN
        RETURN NULL;
    END IF;
    FOREACH reading IN ARRAY readings LOOP
        hit := {shadow}({tenant_p}, {shadow_scope_value} reading);
        IF hit IS NOT NULL THEN
            RETURN hit || jsonb_build_object('how', 'decorated');
        END IF;
    END LOOP;
    FOR row_found IN
        SELECT c.id, c.spelled, max({trgm_schema}.word_similarity(c.spelled, r.reading)) AS quoted,
            bool_or(c.spelled = r.reading) AS verbatim
        FROM unnest(readings) AS r(reading), {pieces}(r.reading) AS k(piece),
            LATERAL (SELECT c.{canonical_id} AS id, {spelled}(c.{canonical_body}) AS spelled
                     FROM {canonical} c
                     WHERE c.{tenant} = {tenant_p} {shadow_scope_is}
                       AND c.{canonical_body} OPERATOR({trgm_schema}.%>) k.piece
                     ORDER BY c.{canonical_body} OPERATOR({trgm_schema}.<->) r.reading LIMIT 4) AS c
        GROUP BY c.id, c.spelled
    LOOP
        IF row_found.verbatim THEN
            RETURN jsonb_build_object('noun', {noun}, 'id', row_found.id, 'similarity', 1,
                                      'how', 'verbatim');
        END IF;
        CONTINUE WHEN NOT {primary} OR char_length(row_found.spelled) < 100;
        IF row_found.quoted > 0.85 THEN
            RETURN jsonb_build_object('noun', {noun}, 'id', row_found.id,
                'similarity', row_found.quoted, 'how', 'quoted');
        END IF;
        IF earlier IS NULL THEN
            -- The latest notes of this writer here; the anchor's last 64 are looked through.
            SELECT coalesce(jsonb_object_agg(b.memory_id, b.said), '{{}}') INTO earlier
            FROM (SELECT m.memory_id, {spelled}(m.body_text) AS said
                  FROM (SELECT m.* FROM {memory} m WHERE {anchor_is_p_m}
                        ORDER BY m.memory_id DESC LIMIT 64) AS m
                  WHERE m.created_by = p_writer AND (p_session IS NULL OR m.session_id = p_session)
                    AND m.archived_at IS NULL AND m.superseded_at IS NULL AND m.deleted_at IS NULL
                  LIMIT 8) AS b;
        END IF;
        hit := {together}(row_found.spelled, readings, earlier);
        IF hit IS NOT NULL THEN
            RETURN hit || jsonb_build_object('noun', {noun}, 'id', row_found.id);
        END IF;
    END LOOP;
    IF p_spent IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT jsonb_build_object('noun', {noun}, 'id', c.{canonical_id}, 'similarity', n.nearness,
                              'how', 'near')
    INTO hit FROM {canonical} c, unnest(readings) AS r(reading), LATERAL (
        SELECT greatest({trgm_schema}.similarity(c.{canonical_body}, r.reading),
                        {trgm_schema}.word_similarity(c.{canonical_body}, r.reading)) AS nearness) AS n
    WHERE c.{tenant} = {tenant_p} {shadow_scope_is} AND c.{canonical_id} = ANY (p_spent)
      AND n.nearness > 0.5
    LIMIT 1;
    RETURN hit;
END
$$;
REVOKE EXECUTE ON FUNCTION {restated} FROM PUBLIC;
GRANT EXECUTE ON FUNCTION {restated} TO idetic_app;
