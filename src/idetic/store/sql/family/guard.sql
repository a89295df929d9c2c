-- for each guarded noun:
-- object: index {name}_{noun}_shadow
-- as: admin
-- GiST, led by the tenant: the look-up touches one tenant's rows however many others there are.
-- The guard reads as its own NOLOGIN role: under RLS the application role could not use a trigram
-- index at all, because `%` is not leakproof.
-- The number of trigrams leads the text: two texts above 0.85 differ in it by less than a sixth, so
-- most of the tree is passed by without a look at its signatures. Those are long ones: with 256
-- bytes, an inner page's are nearly all ones. With 100,000 rules a new note took 3.7 ms of
-- processor time this way and 10.9 without the number; with 30,000, 256 bytes took three times
-- what 1,024 did.
DROP INDEX IF EXISTS {canonical_schema}.{name}_{noun}_shadow_idx;
CREATE INDEX {name}_{noun}_shadow_idx ON {canonical} USING gist (
    {tenant},
    -- if canonical_scope:
    {canonical_scope},
    -- end
    cardinality({trgm}.show_trgm({canonical_body})),
    {canonical_body} {trgm}.gist_trgm_ops (siglen = 1024));

-- object: function {name}_{noun}_shadow_v1
-- as: guard
-- The canonical row that a note restates, if any: noun, id, similarity. 0.85 and 100 characters
-- are contracts (D8).
-- `%` rather than similarity() so that the index serves it. The order and `enable_sort = off`
-- leave the planner no other plan than that index, whatever the statistics say; so one generic
-- plan is safe, and planning anew for every note (60 us, most of the guard's cost) is not needed.
-- A definer function is an exemption from RLS, so it checks the tenant itself.
CREATE OR REPLACE FUNCTION {family}_{noun}_shadow_v1(p_tenant {tenant_type}, p_root uuid,
    p_body text)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET pg_trgm.similarity_threshold = 0.85
-- if plain:
SET plan_cache_mode = force_generic_plan
-- end
SET enable_sort = off
SET jit = off
AS $$
DECLARE
    hit_id uuid;
    hit_similarity real;
    size integer := cardinality({trgm}.show_trgm(p_body));
BEGIN
    IF char_length(p_body) < 100 OR NOT idetic.is_bound_v1(p_tenant::text) THEN
        RETURN NULL;
    END IF;
    -- if canonical_scope:
    IF p_root IS NULL THEN
        -- Nobody knows whose the text is: then it is compared with all of the tenant's.
        SELECT c.{canonical_id}, {trgm}.similarity(c.{canonical_body}, p_body)
        INTO hit_id, hit_similarity FROM {canonical} c
        WHERE c.{tenant} = p_tenant
          AND cardinality({trgm}.show_trgm(c.{canonical_body}))
              BETWEEN floor(size * 0.85)::integer AND ceil(size / 0.85)::integer
          AND c.{canonical_body} OPERATOR({trgm}.%) p_body
        ORDER BY c.{canonical_body} OPERATOR({trgm}.<->) p_body LIMIT 1;
    ELSE
    -- end
    SELECT c.{canonical_id}, {trgm}.similarity(c.{canonical_body}, p_body)
    INTO hit_id, hit_similarity FROM {canonical} c
    WHERE c.{tenant} = p_tenant
      -- if canonical_scope:
      AND c.{canonical_scope} = p_root
      -- end
      AND cardinality({trgm}.show_trgm(c.{canonical_body}))
          BETWEEN floor(size * 0.85)::integer AND ceil(size / 0.85)::integer
      AND c.{canonical_body} OPERATOR({trgm}.%) p_body
    ORDER BY c.{canonical_body} OPERATOR({trgm}.<->) p_body LIMIT 1;
    -- if canonical_scope:
    END IF;
    -- end
    IF hit_similarity > 0.85 THEN
        RETURN jsonb_build_object('noun', '{noun}', 'id', hit_id, 'similarity', hit_similarity);
    END IF;
    RETURN NULL;
END
$$;
GRANT EXECUTE ON FUNCTION {family}_{noun}_shadow_v1 TO {writers};

-- object: function {name}_{noun}_guard_v1
-- The shared lock meets the exclusive one that a writer of canonical rows takes: a rule and
-- its shadow written at once never both commit. The refusal names the id, never the text.
-- Raw SQL may name another root than the anchor's, or an anchor that is not there: then all of the
-- tenant's texts are compared. A superuser needs no scope, and the look-up does: it gets the row's
-- tenant for as long as it takes. Whoever row-level security binds gets none, and learns nothing.
CREATE OR REPLACE FUNCTION {family}_{noun}_guard_v1() RETURNS trigger
LANGUAGE plpgsql
-- if citus:
SET citus.allow_nested_distributed_execution = on
-- end
AS $$
DECLARE
    hit jsonb;
    said text;
    root_key uuid;
    before text;
    looked boolean := false;
    lent boolean;
    -- As an expression: PERFORM would be a statement for each row.
    held CONSTANT text := pg_advisory_xact_lock_shared(
        hashtextextended('{canonical_text}' || NEW.{tenant}::text, 0));
BEGIN
    FOREACH said IN ARRAY ARRAY[NEW.body_text::text, NEW.claim_subject, NEW.claim_attribute,
            NEW.claim_value] || ({family}_texts_v1('', NEW.envelope, NEW.provenance)) LOOP
        CONTINUE WHEN coalesce(char_length(said), 0) < 100;
        -- Once, and only for a text that is compared: most notes are shorter.
        IF NOT looked THEN
            looked := true;
            -- if root:
            SELECT a.{root_id} INTO root_key FROM {family}_memory_anchors a
            WHERE a.{tenant} = NEW.{tenant} AND a.anchor_id = NEW.anchor_id AND a.{root_id} = NEW.{root_id};
            -- end
            lent := NOT idetic.is_bound_v1(NEW.{tenant}::text) AND NOT row_security_active(TG_RELID);
            IF lent THEN
                before := current_setting('idetic.scope', true);
                PERFORM set_config('idetic.scope', chr(31) || NEW.{tenant}, true);
            END IF;
        END IF;
        hit := {family}_{noun}_shadow_v1(NEW.{tenant}, root_key, said);
        IF hit IS NOT NULL THEN
            RAISE EXCEPTION 'idetic.shadow: the note restates {noun} %', hit ->> 'id'
                USING ERRCODE = '23514', DETAIL = hit::text;
        END IF;
    END LOOP;
    IF lent THEN
        PERFORM set_config('idetic.scope', coalesce(before, ''), true);
    END IF;
    RETURN NEW;
END
$$;

-- object: trigger {name}_memory.{noun}_shadow_guard
-- The mover's rows are looked at when all of them are there: what was archived long ago may restate
-- a rule of today. Nobody can act as that role but its own functions.
-- Few words: every statement that inserts reads the condition anew, from text, and a `name` is 64
-- numbers there. That was a twentieth of a note.
CREATE OR REPLACE TRIGGER {noun}_shadow_guard
    BEFORE INSERT OR UPDATE OF body_text, envelope, provenance, claim_subject, claim_attribute,
        claim_value ON {family}_memory
    FOR EACH ROW WHEN (greatest(char_length(NEW.body_text), octet_length(NEW.envelope::text),
            octet_length(NEW.provenance::text),
            octet_length(concat(NEW.claim_subject, NEW.claim_attribute, NEW.claim_value))) >= 100
        AND current_user::text <> 'idetic_mover')
    EXECUTE FUNCTION {family}_{noun}_guard_v1();

-- object: function {name}_{noun}_told_v1
-- The guard for free text beside entries: reasons, notes, kinds of action. The column's name is the
-- trigger's argument. It asks everything that the gateway asks of a note but what came before it.
CREATE OR REPLACE FUNCTION {family}_{noun}_told_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    given jsonb := to_jsonb(NEW) -> TG_ARGV[0];
    said text := given #>> '{}';
    root_key uuid;
    hit jsonb;
BEGIN
    IF jsonb_typeof(given) = 'object' THEN
        SELECT string_agg(g.value, ' ') INTO said FROM jsonb_each_text(given) g;
    END IF;
    SELECT {root_of_a} INTO root_key FROM {family}_memory_anchors a
    WHERE a.{tenant} = NEW.{tenant} AND a.anchor_id = NEW.anchor_id;
    PERFORM pg_advisory_xact_lock_shared(
        hashtextextended('{canonical_text}' || NEW.{tenant}::text, 0));
    hit := coalesce({family}_{noun}_shadow_v1(NEW.{tenant}, root_key, said),
        {family}_{noun}_restated_v1(NEW.{tenant}, NEW.anchor_id, root_key, ARRAY[said], NULL, NULL));
    IF hit IS NOT NULL THEN
        RAISE EXCEPTION 'idetic.shadow: the % restates {noun} %', TG_ARGV[1], hit ->> 'id'
            USING ERRCODE = '23514', DETAIL = hit::text;
    END IF;
    RETURN NEW;
END
$$;

-- object: trigger {name}_memory_ledger.{noun}_reason_guard
-- From 40 characters on: what the house says by itself is shorter, and so is nearly every reason.
CREATE OR REPLACE TRIGGER {noun}_reason_guard BEFORE INSERT ON {family}_memory_ledger
    FOR EACH ROW WHEN (char_length(NEW.reason) >= 40 AND current_user::text <> 'idetic_mover')
    EXECUTE FUNCTION {family}_{noun}_told_v1('reason', 'reason');

-- object: trigger {name}_memory_actions.{noun}_kind_guard
CREATE OR REPLACE TRIGGER {noun}_kind_guard BEFORE INSERT ON {family}_memory_actions
    FOR EACH ROW WHEN (char_length(NEW.action_kind) >= 40 AND current_user::text <> 'idetic_mover')
    EXECUTE FUNCTION {family}_{noun}_told_v1('action_kind', 'kind of action');

-- for each noted:
-- object: trigger {table_name}.{noun}_notes_guard
CREATE OR REPLACE TRIGGER {noun}_notes_guard BEFORE INSERT OR UPDATE OF {newest} ON {table}
    FOR EACH ROW WHEN (char_length(NEW.{newest}) >= 40
        AND current_user::text <> 'idetic_mover')
    EXECUTE FUNCTION {family}_{noun}_told_v1('{newest}', 'note');
-- if provided:
CREATE OR REPLACE TRIGGER {noun}_provenance_guard BEFORE INSERT ON {table}
    FOR EACH ROW WHEN (octet_length(NEW.provenance::text) >= 40 AND current_user::text <> 'idetic_mover')
    EXECUTE FUNCTION {family}_{noun}_told_v1('provenance', 'provenance');
-- end
-- end

-- object: function {name}_{noun}_print_v1
-- as: guard
-- Print a canonical row as it is written. One statement a print: on Citus a set is refused here.
CREATE OR REPLACE FUNCTION {family}_{noun}_print_v1() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made bigint;
BEGIN
    FOREACH made IN ARRAY {family}_prints_v1(
        ARRAY[{family}_spelled_v1(NEW.{canonical_body})], {scope_of_new})
    LOOP
        INSERT INTO {family}_{noun}_prints ({tenant}, print, {canonical_id})
        VALUES (NEW.{tenant}, made, NEW.{canonical_id}) ON CONFLICT DO NOTHING;
    END LOOP;
    RETURN NULL;
END
$$;
-- Whoever makes the trigger needs it, and so does a cluster that moves the table with its triggers.
GRANT EXECUTE ON FUNCTION {family}_{noun}_print_v1 TO idetic_owner;

-- object: trigger {canonical_text}.{name}_print
-- as: admin
CREATE OR REPLACE TRIGGER {name}_print AFTER INSERT OR UPDATE OF
    -- if canonical_scope:
    {canonical_scope},
    -- end
    {canonical_body} ON {canonical}
    FOR EACH ROW EXECUTE FUNCTION {family}_{noun}_print_v1();

-- object: prints {name}_{noun}
-- as: guard
-- Of the rows that were there before the trigger.
INSERT INTO {family}_{noun}_prints ({tenant}, print, {canonical_id})
SELECT c.{tenant}, p.print, c.{canonical_id}
FROM {canonical} c,
    unnest({family}_prints_v1(ARRAY[{family}_spelled_v1(c.{canonical_body})], {scope_of_c}))
        AS p(print)
ON CONFLICT DO NOTHING;

-- object: function {name}_{noun}_suspects_v1
-- as: guard
-- Which notes (by number) share a run of letters with some canonical row and so deserve a closer
-- look. By key, and in one statement for all of them: each within its own root, or all within one.
CREATE OR REPLACE FUNCTION {family}_{noun}_suspects_v1(p_tenant {tenant_type}, p_roots uuid[],
    p_items jsonb) RETURNS integer[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- if plain:
SET plan_cache_mode = force_generic_plan
-- end
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
DECLARE
    suspicious integer[];
BEGIN
    IF NOT idetic.is_bound_v1(p_tenant::text) THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(x.n::integer) INTO suspicious
    FROM jsonb_array_elements(p_items) WITH ORDINALITY AS x(item, n)
    -- Of a tenant without canonical rows no note is looked at.
    WHERE EXISTS (SELECT FROM {family}_{noun}_prints c WHERE c.{tenant} = p_tenant)
      AND EXISTS (SELECT FROM {family}_{noun}_prints c WHERE c.{tenant} = p_tenant
        AND c.print = ANY ({family}_prints_v1({family}_readings_v1({family}_texts_v1(
            x.item ->> 'body', x.item -> 'envelope', x.item -> 'provenance')), {scope_of_item})));
    RETURN suspicious;
END
$$;
GRANT EXECUTE ON FUNCTION {family}_{noun}_suspects_v1 TO {writers};

-- object: function {name}_{noun}_restated_v1
-- as: guard
-- The canonical row that a note restates, if there is one, and how:
--   copied     as the trigger would find it
--   verbatim   it is a row's text, word for word and nothing else, however short
--   decorated  its bare words are a copy, with the trigger's own measure, bound and floor
--   quoted     a part of it is a copy of a row of 100 characters or more (word similarity)
--   together   it and what stands in this anchor since the spec's window began, whoever wrote it
--              and in whichever session, repeat such a row
--   near       the writer was refused too often over this row, and the note still is half of it
-- Asked of the eight rows that share most runs with it. A run that more than 64 rows share tells
-- little about any of them; for a decorated copy of such a row the trigram index is asked too.
-- Quoted and together are the primary calibration's; as a backstop the guard leaves them to the
-- agent's own discipline. The numbers are the contract's, but for `near` (see decision 0019).
CREATE OR REPLACE FUNCTION {family}_{noun}_restated_v1(p_tenant {tenant_type}, p_anchor uuid,
    p_root uuid, p_texts text[], p_at timestamptz, p_spent uuid[]) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- if plain:
SET plan_cache_mode = force_generic_plan
-- end
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
DECLARE
    readings text[] := {family}_readings_v1(p_texts);
    known record;
    common boolean := false;
    -- Of how many rows a part was found; the two that share most are looked into.
    begun integer := 0;
    -- Whether the trigger would see the same words.
    plain boolean := {trgm}.similarity(readings[1], p_texts[1]) = 1;
    hit jsonb;
BEGIN
    IF NOT idetic.is_bound_v1(p_tenant::text, p_anchor) THEN
        RETURN NULL;
    END IF;
    FOR known IN
        WITH shared AS MATERIALIZED (
            SELECT c.id, count(*) AS runs, max(c.place) AS places
            FROM unnest({family}_prints_v1(readings, {scope_of_p})) AS p(print),
                LATERAL (SELECT c.{canonical_id} AS id, row_number() OVER () AS place
                         FROM {family}_{noun}_prints c
                         WHERE c.{tenant} = p_tenant AND c.print = p.print LIMIT 64) AS c
            GROUP BY c.id ORDER BY runs DESC LIMIT 8
        )
        SELECT c.id, c.spelled, c.long, s.places, {family}_repeated_v1(c.spelled, readings) AS own
        FROM shared s, LATERAL (
            SELECT c.{canonical_id} AS id, {family}_spelled_v1(c.{canonical_body}) AS spelled,
                char_length(c.{canonical_body}) >= 100 AS long
            FROM {canonical} c
            WHERE c.{tenant} = p_tenant AND c.{canonical_id} = s.id
            -- if canonical_scope:
              AND c.{canonical_scope} = p_root
            -- end
            OFFSET 0) AS c
        -- A run or two of a long text is a turn of phrase.
        WHERE s.runs * 40 >= char_length(c.spelled) * 0.15
    LOOP
        common := common OR known.places = 64;
        hit := {family}_compared_v1(known.spelled, known.own, readings, {primary} AND known.long);
        IF hit IS NULL AND {primary} AND known.long AND p_at IS NOT NULL
            AND char_length(known.own) >= 0.1 * char_length(known.spelled) AND begun < 2 THEN
            begun := begun + 1;
            hit := {family}_together_v1(known.spelled, readings, {family}_earlier_v1(
                p_tenant, p_anchor, known.spelled, p_at - interval '{together_hours} hours'));
        END IF;
        IF hit ->> 'how' = 'decorated' AND plain THEN
            hit := hit || jsonb_build_object('how', 'copied');
        END IF;
        IF hit IS NOT NULL THEN
            RETURN hit || jsonb_build_object('noun', '{noun}', 'id', known.id);
        END IF;
    END LOOP;
    IF common AND NOT plain THEN
        hit := {family}_{noun}_shadow_v1(p_tenant, p_root, readings[1]);
        IF hit IS NOT NULL THEN
            RETURN hit || jsonb_build_object('how', 'decorated');
        END IF;
    END IF;
    IF p_spent IS NOT NULL THEN
        SELECT jsonb_build_object('noun', '{noun}', 'id', c.{canonical_id}, 'similarity', n.nearness,
                                  'how', 'near')
        INTO hit FROM {canonical} c, unnest(readings) AS r(reading), LATERAL (
            SELECT greatest({trgm}.similarity(c.{canonical_body}, r.reading),
                            {trgm}.word_similarity(c.{canonical_body}, r.reading)) AS nearness
        ) AS n
        WHERE c.{tenant} = p_tenant AND c.{canonical_id} = ANY (p_spent)
          -- if canonical_scope:
          AND c.{canonical_scope} = p_root
          -- end
          AND n.nearness > 0.5
        LIMIT 1;
    END IF;
    RETURN hit;
END
$$;
GRANT EXECUTE ON FUNCTION {family}_{noun}_restated_v1 TO {writers};
-- end
