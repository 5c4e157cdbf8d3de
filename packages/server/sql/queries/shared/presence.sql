-- Who is there. All of it is gathered in memory and written now and then.

-- name: note_queues
-- When workers last asked for jobs of these queues, in seconds before now.
INSERT INTO millrace.queues (last_lease_at, queue)
SELECT now() - asked.age_secs * interval '1 second', asked.queue
FROM unnest(:queues::text[], :ages_secs::float8[]) AS asked (queue, age_secs)
ORDER BY asked.queue
ON CONFLICT (queue) DO UPDATE SET last_lease_at = greatest(queues.last_lease_at, excluded.last_lease_at);

-- name: queue_marks
-- What is known of these queues besides how much they hold.
SELECT asked.queue, q.paused_at, q.last_lease_at, now() AS now
FROM unnest(:queues::text[]) AS asked (queue) LEFT JOIN millrace.queues q ON q.queue = asked.queue;

-- name: register_process
INSERT INTO millrace.processes (seen_at, id, tasks) VALUES (now(), :id, :tasks::text[])
ON CONFLICT (id) DO UPDATE SET seen_at = now(), tasks = excluded.tasks;

-- name: registered_tasks
-- What processes seen in the last five minutes run.
SELECT DISTINCT task
FROM (SELECT p.tasks FROM millrace.processes p WHERE p.seen_at > now() - interval '5 minutes') AS seen,
LATERAL unnest(seen.tasks) AS task
LIMIT :max_tasks;

-- name: clock
SELECT now() AS now;
