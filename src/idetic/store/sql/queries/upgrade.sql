-- query: bound
-- Whether row-level security binds the login, a table's owner included.
SELECT NOT (rolsuper OR rolbypassrls) FROM pg_roles WHERE rolname = current_user

-- query: forced
-- Which of some tables bind their owner to row-level security.
SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname || '.' || c.relname = ANY (%(tables)s::text[]) AND c.relforcerowsecurity
ORDER BY 1

-- query: record_object
-- An object of the compiler as it stands in the database now.
INSERT INTO idetic.compiled_objects (agent, kind, name, digest, version)
VALUES (%(agent)s, %(kind)s, %(name)s, %(digest)s, %(version)s)
ON CONFLICT (agent, kind, name) DO UPDATE SET digest = EXCLUDED.digest, version = EXCLUDED.version

-- query: forget_object
DELETE FROM idetic.compiled_objects
WHERE agent = %(agent)s AND kind = %(kind)s AND name = %(name)s

-- query: make_again
-- Whatever is compiled against tables is made anew after they changed: without a digest, the next
-- plan replaces it. A killed upgrade finds it so, too.
UPDATE idetic.compiled_objects SET digest = ''
WHERE agent = %(agent)s AND kind = ANY (%(kinds)s::text[])

-- query: family_migrations
SELECT number, digest FROM idetic.family_migrations WHERE agent = %(agent)s

-- query: record_migration
INSERT INTO idetic.family_migrations (agent, number, name, digest)
VALUES (%(agent)s, %(number)s, %(name)s, %(digest)s)

-- query: agents
-- The newest spec of every agent.
SELECT DISTINCT ON (agent) agent, spec FROM idetic.spec_versions ORDER BY agent, version DESC
