-- object: index {family}_{noun}_shadow
-- as: admin
-- GiST, led by the tenant: the look-up touches one tenant's rows however many others there are.
-- The guard reads as its own NOLOGIN role: under RLS the application role could not use a trigram
-- index at all, because `%` is not leakproof.
-- The number of trigrams leads the text: two texts above 0.85 differ in it by less than a sixth, so
-- most of the tree is passed by without a look at its signatures. Those are long ones: with 256
-- bytes, an inner page's are nearly all ones. With 100,000 rules a new note took 3.7 ms of
-- processor time this way and 10.9 without the number; with 30,000, 256 bytes took three times
-- what 1,024 did.
DROP INDEX IF EXISTS {canonical_schema}.{i_shadow};
CREATE INDEX {i_shadow} ON {canonical} USING gist (
    {shadow_lead}, cardinality({trgm_schema}.show_trgm({canonical_body})),
    {canonical_body} {trgm_schema}.gist_trgm_ops (siglen = 1024));

-- object: function {family}_{noun}_shadow_v1
-- as: guard
-- The canonical row that a note restates, if any: noun, id, similarity. 0.85 and 100 characters
-- are contracts (D8).
-- `%` rather than similarity() so that the index serves it. The order and `enable_sort = off`
-- leave the planner no other plan than that index, whatever the statistics say; so one generic
-- plan is safe, and planning anew for every note (60 us, most of the guard's cost) is not needed.
-- A definer function is an exemption from RLS, so it checks the tenant itself.
CREATE OR REPLACE FUNCTION {shadow}(p_tenant {tenant_type}, {shadow_scope_param} p_body text)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET pg_trgm.similarity_threshold = 0.85
SET plan_cache_mode = force_generic_plan
SET enable_sort = off
AS $$
DECLARE
    hit_id uuid;
    hit_similarity real;
    size integer := cardinality({trgm_schema}.show_trgm(p_body));
BEGIN
    IF char_length(p_body) < 100 OR p_tenant IS DISTINCT FROM {bound_tenant} THEN
        RETURN NULL;
    END IF;
    SELECT c.{canonical_id}, {trgm_schema}.similarity(c.{canonical_body}, p_body)
    INTO hit_id, hit_similarity FROM {canonical} c
    WHERE c.{tenant} = p_tenant {shadow_scope_is}
      AND cardinality({trgm_schema}.show_trgm(c.{canonical_body}))
          BETWEEN floor(size * 0.85)::integer AND ceil(size / 0.85)::integer
      AND c.{canonical_body} OPERATOR({trgm_schema}.%) p_body
    ORDER BY c.{canonical_body} OPERATOR({trgm_schema}.<->) p_body LIMIT 1;
    IF hit_similarity > 0.85 THEN
        RETURN jsonb_build_object('noun', {noun}, 'id', hit_id, 'similarity', hit_similarity);
    END IF;
    RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION {shadow} FROM PUBLIC;
GRANT EXECUTE ON FUNCTION {shadow} TO idetic_app;

-- object: function {family}_{noun}_guard_v1
-- The shared lock meets the exclusive one that a writer of canonical rows takes: a rule and
-- its shadow written at once never both commit. The refusal names the id, never the text.
CREATE OR REPLACE FUNCTION {guard}() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    hit jsonb;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended({canonical_text} || NEW.{tenant}::text, 0));
    hit := {shadow}(NEW.{tenant}, {shadow_scope_new} NEW.body_text);
    IF hit IS NOT NULL THEN
        RAISE EXCEPTION 'idetic.shadow: the note restates {noun_text} %', hit ->> 'id'
            USING ERRCODE = '23514', DETAIL = hit::text;
    END IF;
    RETURN NEW;
END
$$;

-- object: trigger {family}_memory.{noun}_shadow_guard
-- The mover's rows are looked at when all of them are there: what was archived long ago may restate
-- a rule of today. Nobody can act as that role but its own functions.
CREATE OR REPLACE TRIGGER {t_guard} BEFORE INSERT OR UPDATE OF body_text ON {memory}
    FOR EACH ROW WHEN (char_length(NEW.body_text) >= 100 AND current_user <> 'idetic_mover')
    EXECUTE FUNCTION {guard}();
