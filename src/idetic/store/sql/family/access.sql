-- object: function {name}_visible_v1
-- Whether a scope that leaves keys of its anchor open may read an anchor: row-level security on the
-- anchors table, which has the keys, decides. On Citus a policy runs on a shard, where a query of a
-- distributed table is refused by default; this one is for the same tenant, whose rows are there.
CREATE OR REPLACE FUNCTION {family}_visible_v1(p_tenant {tenant_type}, p_anchor uuid) RETURNS boolean
LANGUAGE plpgsql STABLE
-- if citus:
SET citus.allow_nested_distributed_execution = on
-- end
AS $$
BEGIN
    RETURN EXISTS (SELECT FROM {family}_memory_anchors a
                   WHERE a.{tenant} = p_tenant AND a.anchor_id = p_anchor);
END
$$;

-- for each table:
-- object: access {table_name}
-- The application layer scopes every statement first; this stands behind it. FORCE binds the
-- owner too. An unset setting matches nothing. Writing needs every anchor key; reading may
-- leave out those that the spec declares nullable for queries, and says so with '*'.
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
REVOKE ALL ON {table} FROM {writers}, {readers}, PUBLIC;
GRANT SELECT ON {table} TO {writers}, {readers};
GRANT {write_grants} ON {table} TO {writers};
DROP POLICY IF EXISTS anchor_scope ON {table};
CREATE POLICY anchor_scope ON {table} FOR ALL TO {writers}
    USING ({policy_using}) WITH CHECK ({policy_check});
DROP POLICY IF EXISTS auditor_scope ON {table};
CREATE POLICY auditor_scope ON {table} FOR SELECT TO {readers} USING ({policy_using});

-- if guard:
-- object: access {table_name} for the guard
-- Unconditional, as on canonical tables: its functions carry the anchor themselves, and a policy
-- with a setting in it would cost them the trigram index.
GRANT SELECT ON {table} TO idetic_guard;
DROP POLICY IF EXISTS guard_reads ON {table};
CREATE POLICY guard_reads ON {table} FOR SELECT TO idetic_guard USING (true);
-- end
-- if keeper_grants:
-- object: access {table_name} for the keeper
-- Within the bound anchor only, and only through the functions that close scopes and empty
-- tombstones.
GRANT {keeper_grants} ON {table} TO idetic_keeper;
DROP POLICY IF EXISTS keeper_scope ON {table};
CREATE POLICY keeper_scope ON {table} FOR ALL TO idetic_keeper USING ({policy_check});
-- end
-- if mover_grants:
-- object: access {table_name} for the mover
-- Within the bound anchor only, and only through the functions that take an export in.
GRANT {mover_grants} ON {table} TO idetic_mover;
DROP POLICY IF EXISTS mover_scope ON {table};
CREATE POLICY mover_scope ON {table} FOR ALL TO idetic_mover USING ({policy_check});
-- end
-- if worker:
-- object: access {table_name} for workers
-- Which anchors and scopes wait for background work, over all tenants: keys, times and positions;
-- no table with a note in it. The work itself runs as the application, bound to one anchor.
GRANT SELECT ON {table} TO idetic_worker;
DROP POLICY IF EXISTS worker_reads ON {table};
CREATE POLICY worker_reads ON {table} FOR SELECT TO idetic_worker USING (true);
-- end

-- end

-- if channel:
-- object: access {name}_notes for the other persona
-- Only the Subconscious leaves notes; it reads this family as it reads the rest of it.
GRANT INSERT ON {family}_notes TO idetic_subconscious;
DROP POLICY IF EXISTS notes_left ON {family}_notes;
CREATE POLICY notes_left ON {family}_notes FOR INSERT TO idetic_subconscious
    WITH CHECK ({anchor_check});

-- end
-- object: access functions of {name}
-- Nobody may call a function by being nobody in particular: PUBLIC may call none (`ownership.py`).
-- Definer functions name their caller where they stand; these run with their caller's own rights.
GRANT EXECUTE ON FUNCTION {family}_visible_v1 TO {writers}, {readers};
GRANT EXECUTE ON FUNCTION {family}_head_v1, {family}_chain_v1, {family}_append_v1,
    {family}_replay_v1, {family}_admit_v1, {family}_write_v1, {family}_enter_v1,
    {family}_convoy_v1,
    {family}_answer_v1, {family}_spent_v1, {family}_refer_v1,
    {family}_pinned_v1,
    {family}_settle_v1, {family}_turn_v1, {family}_link_v1, {family}_scope_v1, {family}_taken_v1
    TO {writers};
GRANT EXECUTE ON FUNCTION {family}_members_v1, {family}_postings_v1 TO {writers}, {readers}, idetic_keeper;
-- if guarded:
GRANT EXECUTE ON FUNCTION {family}_texts_v1 TO {writers}, idetic_guard;
GRANT EXECUTE ON FUNCTION {family}_spelled_v1, {family}_readings_v1, {family}_prints_v1,
    {family}_repeated_v1, {family}_compared_v1, {family}_together_v1,
    {family}_earlier_v1 TO idetic_guard;
-- end
