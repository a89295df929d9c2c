-- Background jobs. The queue's tables are procrastinate's own, in schema idetic_jobs, installed
-- just before this file from the package that is installed (see store/queue_schema.py). Here is
-- what Idetic adds: the one way in, and why a job failed.

-- What a job is, in one line: two jobs with the same key are the same work. jsonb has one text
-- for one value, so a key made here and one made by a sweep are equal.
CREATE FUNCTION idetic.job_key_v1(p_task text, p_args jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT p_task || ' ' || p_args::text
$$;

-- A job names an agent, an anchor and ids. Not content: the queue has no row-level security and
-- its rows outlive an erasure. And not another tenant's anchor: whoever enqueues within a scope
-- stays within it, as with every other write.
CREATE FUNCTION idetic.check_job_v1(p_task text, p_args jsonb) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    bound text[] := string_to_array(nullif(current_setting('idetic.scope', true), ''), chr(31));
BEGIN
    IF coalesce(p_task, '') = '' OR coalesce(p_args ->> 'agent', '') = ''
       OR jsonb_typeof(p_args -> 'anchor') IS DISTINCT FROM 'object'
       OR EXISTS (
           SELECT FROM jsonb_each(p_args) AS a WHERE a.key <> 'anchor'
               AND (jsonb_typeof(a.value) IN ('array', 'object') OR length(a.value::text) > 202))
       OR length(p_args::text) > 2000 THEN
        RAISE EXCEPTION 'idetic.bad_job: a job takes an agent, an anchor and ids, and nothing else'
            USING ERRCODE = 'ID010';
    END IF;
    IF bound IS NOT NULL AND (
        bound[1] <> p_args ->> 'agent'
        OR NOT EXISTS (SELECT FROM jsonb_each_text(p_args -> 'anchor') AS a WHERE a.value = bound[2])
        OR EXISTS (SELECT FROM jsonb_each_text(p_args -> 'anchor') AS a
                   WHERE a.value <> ALL (bound[2:]) AND '*' <> ALL (bound[2:]))) THEN
        RAISE EXCEPTION 'idetic.bad_job: a job belongs to the scope that enqueues it'
            USING ERRCODE = 'ID010';
    END IF;
END
$$;

-- The one way into the queue, inside the caller's own transaction: the job exists if and only if
-- the write does. Gives the job's id, or NULL when an equal job waits already. What is NULL takes
-- its default: the task's own queue (workers listen to the queues of the tasks they know), and the
-- job's key for both locks.
--
-- On a conflict the waiting job is not changed but locked: that is all that DO UPDATE … WHERE false
-- does. A worker takes jobs with FOR UPDATE SKIP LOCKED, so the job that stands in for this one
-- cannot start before this transaction has ended, and hence sees what it wrote. DO NOTHING, or a
-- look before the insert, would lose that race. (A look would also be planned while the queue is
-- empty and then read all of it: 4 ms for each of 20,000 jobs.)
CREATE FUNCTION idetic.enqueue_v1(
    p_task text, p_queue text, p_lock text, p_queueing_lock text, p_args jsonb, p_at timestamptz
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, idetic_jobs, pg_temp AS $$
DECLARE
    own_key text := idetic.job_key_v1(p_task, p_args);
    made bigint;
BEGIN
    PERFORM idetic.check_job_v1(p_task, p_args);
    INSERT INTO procrastinate_jobs AS j
        (queue_name, task_name, lock, queueing_lock, args, scheduled_at)
    VALUES (coalesce(p_queue, p_task), p_task, coalesce(p_lock, own_key),
            coalesce(p_queueing_lock, own_key), p_args, p_at)
    ON CONFLICT (queueing_lock) WHERE status = 'todo'
        DO UPDATE SET priority = j.priority WHERE false
    RETURNING j.id INTO made;
    RETURN made;
END
$$;
REVOKE ALL ON FUNCTION idetic.enqueue_v1(text, text, text, text, jsonb, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION idetic.enqueue_v1(text, text, text, text, jsonb, timestamptz)
    TO idetic_app, idetic_worker, idetic_curator, idetic_actor, idetic_steward;

-- Why a job failed last; procrastinate keeps that it did, and not why. It goes with its job.
CREATE TABLE idetic_jobs.failures (
    job_id bigint NOT NULL,
    error text NOT NULL,
    reason text NOT NULL,
    failed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT failures_pkey PRIMARY KEY (job_id),
    CONSTRAINT failures_job FOREIGN KEY (job_id)
        REFERENCES idetic_jobs.procrastinate_jobs (id) ON DELETE CASCADE
);

-- A worker asks for each job whether another with its lock runs or is before it: 1.5 ms a job with
-- 20,000 waiting, 0.6 ms with this.
CREATE INDEX idetic_jobs_lock ON idetic_jobs.procrastinate_jobs (lock)
    WHERE status IN ('todo', 'doing');

-- Failed jobs by what they were to do: a success clears them, a sweep waits after them.
CREATE INDEX idetic_jobs_failed ON idetic_jobs.procrastinate_jobs (queueing_lock)
    WHERE status = 'failed';

-- Who may ask for a job's key.
GRANT EXECUTE ON FUNCTION idetic.job_key_v1 TO idetic_app, idetic_worker, idetic_curator;
