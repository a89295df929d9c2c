-- object: access {table_name} for workers
-- Which anchors and scopes wait for background work, over all tenants: keys, times and positions;
-- no table with a note in it. The work itself runs as the application, bound to one anchor.
GRANT SELECT ON {table} TO idetic_worker;
DROP POLICY IF EXISTS worker_reads ON {table};
CREATE POLICY worker_reads ON {table} FOR SELECT TO idetic_worker USING (true);
