-- query: reachable
-- Whether the framework's three tables are there and this role may look into and delete from them:
-- how many are there, and of how many that holds.
SELECT count(*), count(*) FILTER (WHERE has_schema_privilege(n.oid, 'USAGE')
    AND has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'DELETE'))
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname IN ('checkpoints', 'checkpoint_blobs', 'checkpoint_writes')

-- query: threads
-- The threads of one scope: their names begin with it.
SELECT thread_id FROM {checkpointer}.checkpoints WHERE starts_with(thread_id, %(prefix)s)
UNION SELECT thread_id FROM {checkpointer}.checkpoint_blobs WHERE starts_with(thread_id, %(prefix)s)
UNION SELECT thread_id FROM {checkpointer}.checkpoint_writes WHERE starts_with(thread_id, %(prefix)s)
ORDER BY 1

-- query: state
-- All that one thread holds: texts of documents as JSON, and values as the framework packed them.
SELECT 'json', convert_to(concat_ws(' ', checkpoint::text, metadata::text), 'UTF8')
FROM {checkpointer}.checkpoints WHERE thread_id = %(thread)s
UNION ALL SELECT type, blob FROM {checkpointer}.checkpoint_blobs
WHERE thread_id = %(thread)s AND blob IS NOT NULL
UNION ALL SELECT coalesce(type, 'bytes'), blob FROM {checkpointer}.checkpoint_writes WHERE thread_id = %(thread)s

-- query: forget_blobs
DELETE FROM {checkpointer}.checkpoint_blobs WHERE thread_id = ANY (%(threads)s::text[])

-- query: forget_writes
DELETE FROM {checkpointer}.checkpoint_writes WHERE thread_id = ANY (%(threads)s::text[])

-- query: forget_checkpoints
DELETE FROM {checkpointer}.checkpoints WHERE thread_id = ANY (%(threads)s::text[])
