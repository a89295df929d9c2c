-- query: try_lock
-- Tried and not waited for: whoever waits for a lock holds a snapshot, and the indexes that
-- LangGraph makes concurrently would wait for that snapshot in turn.
SELECT pg_try_advisory_lock(hashtext('idetic.checkpoints'), hashtext({schema_text}))

-- query: schema
-- The framework's own schema. Its tables are unqualified in the framework's statements, so the
-- connection that makes them has this schema alone on its path. On Citus all of it stays on the
-- coordinator, and the workers hear nothing of it.
SET citus.enable_ddl_propagation = off; SET ROLE idetic_owner; CREATE SCHEMA IF NOT EXISTS {schema};
GRANT USAGE ON SCHEMA {schema} TO idetic_app; SET search_path = {schema}

-- query: grants
-- The application may do with checkpoints what the framework does: they are its working state, and
-- none of the append-only memory.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO idetic_app

-- query: newest
-- The framework's own record of its migrations.
SELECT max(v) FROM {schema}.checkpoint_migrations

-- query: silent
-- Threads of one scope whose newest checkpoint is older than a moment.
SELECT c.thread_id FROM {schema}.checkpoints c
WHERE starts_with(c.thread_id, %(prefix)s) GROUP BY c.thread_id
HAVING max((c.checkpoint ->> 'ts')::timestamptz) < %(moment)s ORDER BY 1
