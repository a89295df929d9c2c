-- object: function {name}_taking_v1
-- An export comes into an anchor that is bound, held to commit, and has no memory yet.
CREATE OR REPLACE FUNCTION {family}_taking_v1(p_tenant {tenant_type}, p_anchor uuid)
RETURNS {family}_memory_anchors
LANGUAGE plpgsql AS $$
DECLARE
    stands {family}_memory_anchors;
BEGIN
    IF NOT idetic.is_bound_v1(p_tenant::text, p_anchor) THEN
        RAISE EXCEPTION 'idetic.entry_not_found: this anchor is not bound' USING ERRCODE = 'ID006';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('{family_text}' || p_anchor::text, 0));
    SELECT a.* INTO stands FROM {family}_memory_anchors a
    WHERE a.{tenant} = p_tenant AND a.anchor_id = p_anchor;
    IF NOT FOUND OR stands.position <> 0
        -- if log:
        OR stands.log_position <> 0
        -- end
    THEN
        RAISE EXCEPTION 'idetic.anchor_taken: this anchor has memory already' USING ERRCODE = 'ID008';
    END IF;
    RETURN stands;
END
$$;
GRANT EXECUTE ON FUNCTION {family}_taking_v1 TO {steward}, idetic_mover;

-- for each moved:
-- object: function {name}_take_{moved}_v1
-- as: mover
-- Take rows of an export into one table of an anchor that has no memory yet. They come as they left
-- elsewhere, with ids, states and hashes; the anchor is the bound one, whatever they say, and what
-- can be derived is derived anew. Row by row, with the tenant by itself, which Citus does too.
-- Nothing here judges the rows: whoever calls walks the chain over them before the commit.
CREATE OR REPLACE FUNCTION {family}_take_{moved}_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_rows jsonb, p_without text[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    item jsonb;
    made {table};
    filling text;
    stands {family}_memory_anchors := {family}_taking_v1(p_tenant, p_anchor);
BEGIN
    SELECT format('INSERT INTO {table} ({tenant}, anchor_id, %s) VALUES ($1, $2, %s)',
        string_agg(quote_ident(c.attname), ', '), string_agg(format('($3).%I', c.attname), ', '))
    INTO filling FROM pg_attribute c
    WHERE c.attrelid = '{table}'::regclass AND c.attnum > 0 AND NOT c.attisdropped
      AND quote_ident(c.attname) NOT IN (quote_ident('{tenant_text}'), 'anchor_id');
    FOR item IN SELECT e.value FROM jsonb_array_elements(p_rows) AS e (value) LOOP
        made := jsonb_populate_record(NULL::{table}, item - p_without);
        -- if entries:
        made.lexemes := to_tsvector('pg_catalog.english', concat_ws(': ', made.envelope ->> 'speaker', made.body_text));
        made.embed_attempts := 0;
        -- end
        -- if rooted:
        made.{root_id} := stands.{root_id};
        -- end
        -- if vectors:
        SELECT p.profile_id INTO made.profile_id FROM idetic.embedding_profiles p
        WHERE p.name || '@' || p.fingerprint = item ->> 'profile';
        -- An export from before there were pieces has whole texts only.
        made.piece := coalesce(made.piece, 0);
        -- end
        EXECUTE filling USING p_tenant, p_anchor, made;
    END LOOP;
    RETURN jsonb_array_length(p_rows);
END
$$;
GRANT EXECUTE ON FUNCTION {family}_take_{moved}_v1 TO {steward};

-- end
-- object: function {name}_take_supersessions_v1
-- as: mover
-- Which entry replaced which: after all entries, because it may be any of them.
CREATE OR REPLACE FUNCTION {family}_take_supersessions_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_rows jsonb, p_without text[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    item record;
    stands {family}_memory_anchors := {family}_taking_v1(p_tenant, p_anchor);
BEGIN
    FOR item IN SELECT x.* FROM jsonb_to_recordset(p_rows)
        AS x(memory_id uuid, superseded_at timestamptz, superseded_by uuid)
    LOOP
        UPDATE {family}_memory m
        SET superseded_at = item.superseded_at, superseded_by = item.superseded_by
        WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.memory_id = item.memory_id
          AND m.superseded_at IS NULL;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'idetic.entry_not_found: an entry that was replaced is not in the file'
                USING ERRCODE = 'ID006';
        END IF;
    END LOOP;
    RETURN jsonb_array_length(p_rows);
END
$$;
GRANT EXECUTE ON FUNCTION {family}_take_supersessions_v1 TO {steward};

-- object: function {name}_taken_v1
-- The end of taking an anchor in: the shadow guard looks at every entry that is still current (its
-- trigger let them by, because what was archived long ago may restate a rule of today), and the
-- anchor's row moves to the end of the chain that came. From then on nothing more is taken.
CREATE OR REPLACE FUNCTION {family}_taken_v1(p_tenant {tenant_type}, p_anchor uuid) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    item record;
    hit jsonb;
    link record;
    event record;
    stands {family}_memory_anchors := {family}_taking_v1(p_tenant, p_anchor);
    root_key uuid := {root_of_stands};
BEGIN
    -- for each guarded noun:
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('{canonical_text}' || p_tenant::text, 0));
    -- end
    FOR item IN SELECT m.memory_id, m.body_text AS body, m.envelope, m.provenance
        FROM {family}_memory m
        WHERE m.{tenant} = p_tenant AND m.anchor_id = p_anchor AND m.archived_at IS NULL
          AND m.superseded_at IS NULL AND m.invalidated_at IS NULL AND m.deleted_at IS NULL
          AND char_length(concat(m.body_text, m.envelope::text, m.provenance::text)) >= 100
    LOOP
        hit := NULL;
        -- for each guarded noun:
        hit := coalesce(hit, {family}_{noun}_shadow_v1(p_tenant, root_key, item.body));
        hit := coalesce(hit, {family}_{noun}_restated_v1(p_tenant, p_anchor, root_key,
            {family}_texts_v1(item.body, item.envelope, item.provenance), NULL, NULL));
        -- end
        IF hit IS NOT NULL THEN
            RAISE EXCEPTION 'idetic.shadow: entry % restates % %', item.memory_id, hit ->> 'noun',
                hit ->> 'id' USING ERRCODE = '23514', DETAIL = hit::text;
        END IF;
    END LOOP;
    SELECT l.position, l.hash, l.at INTO link FROM {family}_memory_ledger l
    WHERE l.{tenant} = p_tenant AND l.anchor_id = p_anchor ORDER BY l.position DESC LIMIT 1;
    IF FOUND THEN
        UPDATE {family}_memory_anchors a SET position = link.position, hash = link.hash, at = link.at
        WHERE a.{tenant} = p_tenant AND a.anchor_id = p_anchor;
    END IF;
    -- if log:
    SELECT l.position, l.hash INTO event FROM {family}_log l
    WHERE l.{tenant} = p_tenant AND l.anchor_id = p_anchor ORDER BY l.position DESC LIMIT 1;
    IF FOUND THEN
        UPDATE {family}_memory_anchors a SET log_position = event.position, log_hash = event.hash
        WHERE a.{tenant} = p_tenant AND a.anchor_id = p_anchor;
    END IF;
    -- end
    RETURN link.position;
END
$$;
