-- Who is there. All of it is gathered in memory and written now and then.

-- name: note_queues
-- When workers last asked for jobs of these queues, in seconds before now.
INSERT INTO millrace.queues (last_lease_at, queue)
SELECT now() - asked.age_secs * interval '1 second', asked.queue
FROM unnest($1::text[], $2::float8[]) AS asked (queue, age_secs)
ORDER BY asked.queue
ON CONFLICT (queue) DO UPDATE SET last_lease_at = greatest(queues.last_lease_at, excluded.last_lease_at);

-- name: register_process
INSERT INTO millrace.processes (seen_at, id, tasks) VALUES (now(), $1, $2::text[])
ON CONFLICT (id) DO UPDATE SET seen_at = now(), tasks = excluded.tasks;

-- name: registered_tasks
-- What processes seen in the last five minutes run.
SELECT DISTINCT task
FROM (SELECT p.tasks FROM millrace.processes p WHERE p.seen_at > now() - interval '5 minutes') AS seen,
LATERAL unnest(seen.tasks) AS task
LIMIT $1;

-- name: forget_presence
-- Processes that are long gone; queues that nobody has asked for since a day ago, and of the others all but the latest
-- $1. A paused queue stays.
WITH gone AS (
  DELETE FROM millrace.processes WHERE seen_at < now() - interval '10 minutes'
)
DELETE FROM millrace.queues
WHERE paused_at IS NULL AND (last_lease_at IS NULL OR last_lease_at < greatest(
  now() - interval '1 day',
  (SELECT q.last_lease_at FROM millrace.queues q ORDER BY q.last_lease_at DESC NULLS LAST OFFSET $1::int LIMIT 1)
));

-- name: pause_queue
-- A queue that is paused already stays paused since when it was.
INSERT INTO millrace.queues (paused_at, queue) VALUES (now(), $1)
ON CONFLICT (queue) DO UPDATE SET paused_at = now() WHERE queues.paused_at IS NULL;

-- name: resume_queue
-- Tells every process that listens, this one included, when it commits: claims that wait there look again.
WITH resumed AS (
  UPDATE millrace.queues SET paused_at = NULL WHERE queue = $1 AND paused_at IS NOT NULL RETURNING queue
)
SELECT pg_notify('millrace', json_build_object('q', json_build_array(json_build_array(queue)))::text) FROM resumed;

-- name: clock
SELECT now() AS now;
