-- for each pointed at:
-- object: grant {table_name} to {name}
-- as: admin
-- References need the right to point at the table; the guard and the application read it.
GRANT USAGE ON SCHEMA {table_schema} TO idetic_owner, idetic_guard, {writers}, {readers};
GRANT SELECT, REFERENCES ON {table} TO idetic_owner;
GRANT SELECT ON {table} TO idetic_guard, {writers}, {readers};
-- Where the table is under row-level security of its owner's, a role without a policy reads
-- nothing: the guard would be blind and pass everything. Each role gets the policy it lacks. The
-- guard's is unconditional because its functions carry the tenant themselves.
DO $do$
DECLARE
    secured boolean;
BEGIN
    SELECT c.relrowsecurity INTO secured FROM pg_class c WHERE c.oid = '{table}'::regclass;
    IF secured AND NOT EXISTS (
        SELECT FROM pg_policy p WHERE p.polrelid = '{table}'::regclass
          AND 'idetic_guard'::regrole = ANY (p.polroles)) THEN
        CREATE POLICY idetic_guard_reads ON {table} FOR SELECT TO idetic_guard USING (true);
    END IF;
    IF secured AND NOT EXISTS (
        SELECT FROM pg_policy p WHERE p.polrelid = '{table}'::regclass
          AND '{role}'::regrole = ANY (p.polroles)) THEN
        CREATE POLICY {role}_reads ON {table} FOR SELECT TO {writers}, {readers}
            USING ({tenant} = {bound_tenant});
    END IF;
END $do$;
-- end
