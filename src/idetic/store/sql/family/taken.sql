-- object: function {family}_take_supersessions_v1
-- as: mover
-- Which entry replaced which: after all entries, because it may be any of them.
CREATE OR REPLACE FUNCTION {take_supersessions}({anchor_params}, p_rows jsonb, p_without text[])
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    item record;
    stands {anchors};
BEGIN
    {take_checks}
    FOR item IN SELECT x.* FROM jsonb_to_recordset(p_rows)
        AS x(memory_id uuid, superseded_at timestamptz, superseded_by uuid)
    LOOP
        UPDATE {memory} m SET superseded_at = item.superseded_at, superseded_by = item.superseded_by
        WHERE {anchor_is_p_m} AND m.memory_id = item.memory_id AND m.superseded_at IS NULL;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'idetic.entry_not_found: an entry that was replaced is not in the file'
                USING ERRCODE = 'ID006';
        END IF;
    END LOOP;
    RETURN jsonb_array_length(p_rows);
END
$$;
REVOKE EXECUTE ON FUNCTION {take_supersessions} FROM PUBLIC;
GRANT EXECUTE ON FUNCTION {take_supersessions} TO idetic_app;

-- object: function {family}_taken_v1
-- The end of taking an anchor in: the shadow guard looks at every entry that is still current (its
-- trigger let them by, because what was archived long ago may restate a rule of today), and the
-- anchor's row moves to the end of the chain that came. From then on nothing more is taken.
CREATE OR REPLACE FUNCTION {taken}({anchor_params}) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    item record;
    hit jsonb;
    link {ledger};
    stands {anchors};
    {root_declare}
BEGIN
    {take_checks}
    {taken_root}
    {taken_locks}
    FOR item IN SELECT m.memory_id, m.body_text AS body, NULL::uuid AS copy_of FROM {memory} m
        WHERE {anchor_is_p_m} AND m.archived_at IS NULL AND m.superseded_at IS NULL
          AND m.invalidated_at IS NULL AND m.deleted_at IS NULL AND char_length(m.body_text) >= 100
    LOOP
        hit := NULL;
        {settle_guard}
        IF hit IS NOT NULL THEN
            RAISE EXCEPTION 'idetic.shadow: entry % restates % %', item.memory_id, hit ->> 'noun',
                hit ->> 'id' USING ERRCODE = '23514', DETAIL = hit::text;
        END IF;
    END LOOP;
    SELECT l.* INTO link FROM {ledger} l WHERE {anchor_is_p_l} ORDER BY l.position DESC LIMIT 1;
    IF FOUND THEN
        UPDATE {anchors} a SET position = link.position, hash = link.hash, at = link.at
        WHERE {anchor_is_p_a};
    END IF;
    RETURN link.position;
END
$$;
