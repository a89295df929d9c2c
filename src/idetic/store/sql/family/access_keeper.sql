-- object: access {table_name} for the keeper
-- Within the bound anchor only, and only through the functions that close scopes and empty
-- tombstones.
GRANT {keeper_grants} ON {table} TO idetic_keeper;
DROP POLICY IF EXISTS keeper_scope ON {table};
CREATE POLICY keeper_scope ON {table} FOR ALL TO idetic_keeper USING ({policy_check});
