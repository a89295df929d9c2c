-- The registry of specs: what is stored of each agent, and what a plan asks the catalog.

-- query: known
-- The compiled objects of an agent that stand in this database.
SELECT kind, name, digest FROM idetic.compiled_objects WHERE agent = %(agent)s

-- query: latest
-- The newest stored version of an agent's spec, and where its memory is.
SELECT version, digest, (spec -> 'backend' ->> 'schema') || '.' || (spec -> 'backend' ->> 'family')
FROM idetic.spec_versions WHERE agent = %(agent)s
ORDER BY version DESC LIMIT 1

-- query: version_of
SELECT version FROM idetic.spec_versions WHERE agent = %(agent)s AND digest = %(digest)s
ORDER BY version DESC LIMIT 1

-- query: versions
-- Every stored version, oldest first, of one agent or of all.
SELECT agent, version, digest, spec, applied_at, applied_by FROM idetic.spec_versions
WHERE %(agent)s::text IS NULL OR agent = %(agent)s
ORDER BY agent, version

-- query: store_version
INSERT INTO idetic.spec_versions (agent, version, digest, spec, applied_at, applied_by)
VALUES (%(agent)s, %(version)s, %(digest)s, %(spec)s, %(at)s, %(by)s)

-- query: family_owner
-- Another agent that has this family.
SELECT agent FROM idetic.spec_versions
WHERE agent <> %(agent)s AND spec -> 'backend' ->> 'schema' = %(schema)s
  AND spec -> 'backend' ->> 'family' = %(family)s
LIMIT 1

-- query: columns
-- By name and not with to_regclass, which needs rights on a schema that is not ours.
SELECT a.attname, format_type(a.atttypid, NULL) FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname || '.' || c.relname = %(table)s AND a.attnum > 0 AND NOT a.attisdropped

-- query: extensions
-- Where this database keeps the extensions that we name.
SELECT e.extname, n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname IN ('citus', 'pg_trgm', 'vector')

-- query: superuser
SELECT rolsuper FROM pg_roles WHERE rolname = current_user

-- query: schema
SELECT nspname FROM pg_namespace WHERE nspname = %(name)s

-- query: limits
-- What a sandbox may take of the time of others, who wait while it stands: bounds for its
-- transaction alone.
SELECT set_config('lock_timeout', %(lock)s, true), set_config('statement_timeout', %(each)s, true),
       set_config('idle_in_transaction_session_timeout', %(idle)s, true)
