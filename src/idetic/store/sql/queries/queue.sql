-- query: schema
-- A home for procrastinate's tables, and what was put there. Default privileges, because a later
-- release of it may bring further tables. The record stands in `idetic`, where the application
-- role can read it when it opens a database; it has no right in idetic_jobs at all.
CREATE SCHEMA IF NOT EXISTS idetic_jobs;
GRANT USAGE ON SCHEMA idetic_jobs TO idetic_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA idetic_jobs
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO idetic_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA idetic_jobs GRANT USAGE ON SEQUENCES TO idetic_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA idetic_jobs GRANT EXECUTE ON FUNCTIONS TO idetic_worker;
CREATE TABLE IF NOT EXISTS idetic.queue_migrations (
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT queue_migrations_pkey PRIMARY KEY (name)
);
GRANT SELECT ON idetic.queue_migrations TO idetic_app, idetic_worker

-- query: enqueue
SELECT idetic.enqueue_v1(%(task)s, NULL, NULL, NULL, %(args)s, %(at)s)

-- query: backlog
-- Per task. A job's age counts from when it was enqueued, or from when it was first due if it was
-- put off on purpose; a pause between attempts does not make it younger.
SELECT j.task_name,
       count(*) FILTER (WHERE j.status = 'todo'),
       count(*) FILTER (WHERE j.status = 'doing'),
       count(*) FILTER (WHERE j.status = 'failed'),
       max(greatest(0, extract(epoch FROM now() - since.at))) FILTER (WHERE j.status = 'todo')::float,
       (array_agg(f.error ORDER BY f.failed_at DESC) FILTER (WHERE f.error IS NOT NULL))[1],
       (array_agg(f.reason ORDER BY f.failed_at DESC) FILTER (WHERE f.error IS NOT NULL))[1]
FROM idetic_jobs.procrastinate_jobs j
LEFT JOIN idetic_jobs.failures f ON f.job_id = j.id
LEFT JOIN LATERAL (
    SELECT greatest(min(e.at), CASE WHEN j.attempts = 0 THEN j.scheduled_at END) AS at
    FROM idetic_jobs.procrastinate_events e
    WHERE e.job_id = j.id AND e.type = 'deferred') AS since ON j.status = 'todo'
WHERE {which}
GROUP BY j.task_name ORDER BY j.task_name

-- query: jobs
-- The jobs themselves, the oldest first. A waiting one counts its age as above; a running one from
-- its last start, a failed one from its end.
SELECT j.id, j.task_name, j.status::text, since.at, j.attempts, f.error, f.reason, j.args
FROM idetic_jobs.procrastinate_jobs j
LEFT JOIN idetic_jobs.failures f ON f.job_id = j.id
LEFT JOIN LATERAL (
    SELECT CASE j.status
        WHEN 'todo' THEN greatest(min(e.at) FILTER (WHERE e.type = 'deferred'),
                                  CASE WHEN j.attempts = 0 THEN j.scheduled_at END)
        WHEN 'doing' THEN max(e.at) FILTER (WHERE e.type = 'started')
        ELSE coalesce(f.failed_at, max(e.at)) END AS at
    FROM idetic_jobs.procrastinate_events e WHERE e.job_id = j.id) AS since ON true
WHERE {which} AND j.status::text = ANY (%(status)s::text[])
  AND (%(task)s::text IS NULL OR j.task_name = %(task)s::text)
  AND (%(after)s::bigint IS NULL OR j.id > %(after)s::bigint)
ORDER BY j.id LIMIT %(limit)s

-- query: jobs_of
-- The jobs of one scope. A job names its anchor whole; a scope may leave a key of it open.
j.args ->> 'agent' = %(agent)s AND j.args -> 'anchor' @> %(anchor)s::jsonb

-- query: hold
-- The lease: a job is settled by the worker that holds it and by nobody else. NULL holds the job
-- of a worker that is gone. Locked until the settlement, which is in the same transaction.
SELECT j.id FROM idetic_jobs.procrastinate_jobs j
WHERE j.id = %(job_id)s AND j.status = 'doing' AND j.worker_id IS NOT DISTINCT FROM %(worker_id)s
FOR UPDATE

-- query: clear_failures
-- A job that ends clears the failures of its equals: `failed` counts what is undone, each once.
DELETE FROM idetic_jobs.procrastinate_jobs f WHERE f.status = 'failed' AND f.queueing_lock = %(key)s

-- query: note_failure
INSERT INTO idetic_jobs.failures AS f (job_id, error, reason)
SELECT j.id, %(error)s, %(reason)s FROM idetic_jobs.procrastinate_jobs j WHERE j.id = %(job_id)s
ON CONFLICT (job_id) DO UPDATE
    SET error = EXCLUDED.error, reason = EXCLUDED.reason, failed_at = EXCLUDED.failed_at

-- query: beat
-- No row: this worker was taken for dead, and its jobs were given to others.
UPDATE idetic_jobs.procrastinate_workers SET last_heartbeat = now() WHERE id = %(worker_id)s
RETURNING id

-- query: sweepable
-- Whether workers may look at this family: one that an older release compiled has no marks until
-- its spec is applied again. From the catalog, for to_regclass fails without a right on the schema.
SELECT count(*) = 2 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = ANY (%(tables)s::text[])
  AND has_schema_privilege('idetic_worker', n.oid, 'USAGE')
  AND has_table_privilege('idetic_worker', c.oid, 'SELECT')

-- query: sweep
-- Enqueue a task for every anchor that meets a condition; says for how many. Left out is what waits
-- or runs already, so that a full queue cannot hide the other anchors behind the limit, and what
-- failed for good a short while ago. What is due is found first and by itself: on Citus the anchors
-- are spread over the workers, and the queue is not.
WITH due AS MATERIALIZED (
    SELECT jsonb_build_object('agent', %(agent)s::text, 'anchor', jsonb_build_object({pairs})) AS args
    FROM {family}_memory_anchors a
    LEFT JOIN {family}_memory_marks m
        ON m.{tenant} = a.{tenant} AND m.anchor_id = a.anchor_id AND m.kind = %(task)s::text
    WHERE {condition}
)
SELECT count(idetic.enqueue_v1(%(task)s::text, NULL, NULL, NULL, w.args, NULL))
FROM (
    SELECT due.args
    FROM due
    CROSS JOIN LATERAL (SELECT idetic.job_key_v1(%(task)s::text, due.args) AS key) AS keyed
    WHERE NOT EXISTS (SELECT FROM idetic_jobs.procrastinate_jobs j
                      WHERE j.queueing_lock = keyed.key AND j.status = 'todo')
      AND NOT EXISTS (SELECT FROM idetic_jobs.procrastinate_jobs j
                      WHERE j.lock = keyed.key AND j.status = 'doing')
      AND NOT EXISTS (SELECT FROM idetic_jobs.procrastinate_jobs j
                      JOIN idetic_jobs.failures f ON f.job_id = j.id
                      WHERE j.queueing_lock = keyed.key AND j.status = 'failed'
                        AND f.failed_at > now() - interval '10 minutes')
    LIMIT %(limit)s) AS w

-- query: sweep_moved
-- The chain has moved since the task last finished there.
a.position > coalesce(m.position, 0)

-- query: sweep_grown
-- The same, in a chain of some length.
a.position > coalesce(m.position, 0) AND a.position >= %(least)s

-- query: sweep_aged
-- The task last finished there before a moment, or never.
coalesce(m.marked_at, '-infinity') < %(before)s

-- query: sweep_open
-- A scope is open that was opened before a moment, and nobody has looked since another.
coalesce(m.marked_at, '-infinity') < %(before)s AND EXISTS (
    SELECT FROM {family}_memory_scopes s
    WHERE s.{tenant} = a.{tenant} AND s.anchor_id = a.anchor_id
      AND s.closed_at IS NULL AND s.opened_at < %(opened)s)

-- query: anchors_of
-- The anchors of one tenant.
SELECT {keys} FROM {family}_memory_anchors a WHERE a.{tenant} = %(tenant)s::{tenant_type}
ORDER BY {keys}

-- query: opened_elsewhere
-- The open scopes that one principal has at other anchors of its tenant.
SELECT s.session_id, s.scope_id, {keys} FROM {family}_memory_scopes s
JOIN {family}_memory_anchors a ON a.{tenant} = s.{tenant} AND a.anchor_id = s.anchor_id
WHERE s.{tenant} = %(tenant)s::{tenant_type} AND s.anchor_id <> %(anchor_id)s
  AND s.closed_at IS NULL AND s.opened_by = %(opener)s
  AND s.tier = ANY (%(tiers)s::text[]::idetic.tier[])
ORDER BY s.scope_id <> s.session_id, s.opened_at

-- query: position
-- Where the anchor's chain ends now.
SELECT a.position FROM {family}_memory_anchors a WHERE {scope a}

-- query: reached
-- How far a task has come.
SELECT m.position FROM {family}_memory_marks m WHERE {scope m} AND m.kind = %(task)s::text

-- query: mark
-- How far a task has come; never backwards, should two have run at once.
INSERT INTO {family}_memory_marks AS m ({tenant}, anchor_id, kind, position, marked_at)
VALUES (%(tenant)s, %(anchor_id)s, %(task)s, %(position)s, %(at)s)
ON CONFLICT ({tenant}, anchor_id, kind) DO UPDATE
    SET position = greatest(m.position, EXCLUDED.position), marked_at = EXCLUDED.marked_at
