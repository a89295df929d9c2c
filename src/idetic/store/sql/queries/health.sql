-- query: server
-- What the server is, and whether our role is bound by row-level security there.
SELECT current_setting('server_version'),
       (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user), current_user

-- query: extensions
SELECT extname, extversion FROM pg_extension WHERE extname IN ('vector', 'pg_trgm', 'btree_gist')

-- query: roles
-- Those of ours that bypass row-level security, or are missing. On Citus the owner has to: it moves
-- shards, by a replication that row-level security refuses.
SELECT wanted.name, r.rolname IS NULL AS missing
FROM unnest(%(roles)s::text[]) AS wanted (name) LEFT JOIN pg_roles r ON r.rolname = wanted.name
WHERE r.rolname IS NULL OR r.rolsuper OR (r.rolbypassrls AND NOT (r.rolname = 'idetic_owner'
    AND EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')))

-- query: unsecured
-- Tables of agents' schemas that hold memory and do not force row-level security, or have no policy:
-- then nobody could read them.
SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname || '.' || c.relname = ANY (%(tables)s::text[])
  AND NOT (c.relrowsecurity AND c.relforcerowsecurity
           AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid))
ORDER BY 1

-- query: missing
-- Tables that the compiled specs ask for and that are not there.
SELECT wanted.name FROM unnest(%(tables)s::text[]) AS wanted (name)
WHERE NOT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                  WHERE n.nspname || '.' || c.relname = wanted.name)
ORDER BY 1

-- query: core
-- The last core migration of this database.
SELECT coalesce(max(number), 0) FROM idetic.migrations

-- query: families
-- The last migration of each agent's family, where it has any.
SELECT agent, max(number) FROM idetic.family_migrations GROUP BY agent
