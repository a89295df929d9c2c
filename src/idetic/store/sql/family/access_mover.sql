-- object: access {table_name} for the mover
-- Within the bound anchor only, and only through the functions that take an export in.
GRANT {mover_grants} ON {table} TO idetic_mover;
DROP POLICY IF EXISTS mover_scope ON {table};
CREATE POLICY mover_scope ON {table} FOR ALL TO idetic_mover USING ({policy_check});
