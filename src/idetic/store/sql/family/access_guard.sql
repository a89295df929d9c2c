-- object: access {table_name} for the guard
-- Unconditional, as on canonical tables: its functions carry the anchor themselves, and a policy
-- with a setting in it would cost them the trigram index.
GRANT SELECT ON {table} TO idetic_guard;
DROP POLICY IF EXISTS guard_reads ON {table};
CREATE POLICY guard_reads ON {table} FOR SELECT TO idetic_guard USING (true);
