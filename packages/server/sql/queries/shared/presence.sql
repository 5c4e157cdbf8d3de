-- Who is there. All of it is gathered in memory and written now and then.

-- name: note_queues
-- When workers last asked for jobs of these queues, in seconds before now.
INSERT INTO millrace.queues (last_lease_at, queue)
SELECT now() - asked.age_secs * interval '1 second', asked.queue
FROM unnest(:queues::text[], :ages_secs::float8[]) AS asked (queue, age_secs)
ORDER BY asked.queue
ON CONFLICT (queue) DO UPDATE SET last_lease_at = greatest(queues.last_lease_at, excluded.last_lease_at);

-- name: note_offers
-- What workers say of themselves when they ask, and how long ago they last did.
INSERT INTO millrace.offers (seen_at, slots, queue, worker, tasks)
SELECT now() - asked.age_secs * interval '1 second', asked.slots, asked.queue, asked.worker, asked.tasks
FROM unnest(:queues::text[], :workers::text[], :slots::int[], :tasks::json[], :ages_secs::float8[])
  AS asked (queue, worker, slots, tasks, age_secs)
ORDER BY asked.queue, asked.worker
ON CONFLICT (queue, worker) DO UPDATE
SET seen_at = greatest(offers.seen_at, excluded.seen_at), slots = excluded.slots, tasks = excluded.tasks;

-- name: offers_of
-- Who asked for jobs of a queue in the last :max_secs.
SELECT o.queue, o.worker, o.slots, o.tasks::text AS tasks, o.seen_at,
       extract(epoch FROM now() - o.seen_at)::float8 AS age_secs
FROM millrace.offers o
WHERE o.queue = :queue AND o.seen_at > now() - :max_secs::int * interval '1 second'
LIMIT :max_workers::int;

-- name: offers_lately
-- The same for all queues, of those who gave a name. There are few: each is written down for as long as it asks.
SELECT o.queue, o.worker, o.slots, o.tasks::text AS tasks, o.seen_at,
       extract(epoch FROM now() - o.seen_at)::float8 AS age_secs
FROM millrace.offers o
WHERE o.worker <> '' AND o.seen_at > now() - :max_secs::int * interval '1 second'
LIMIT :max_workers::int;

-- name: queue_marks
-- What is known of these queues besides how much they hold.
SELECT asked.queue, q.paused_at, q.paused_reason, q.paused_by, q.last_lease_at,
       (SELECT s.settings FROM millrace.queue_settings s WHERE s.queue = asked.queue)::text AS settings, now() AS now
FROM unnest(:queues::text[]) AS asked (queue) LEFT JOIN millrace.queue_marks q ON q.queue = asked.queue;

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
