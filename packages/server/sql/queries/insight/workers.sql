-- What workers did in the last hour.

-- name: add_workers
-- Adds what a process saw workers do (:tenants to :expired, one element per worker, tenant and queue; :ages_secs is how
-- long ago it last saw it) to the current five minutes. A tenant has room for :max_workers of them; further ones are
-- left out. Rows are taken in the order of their key, so that processes that write at the same moment never wait in a
-- circle. At most :max_stale rows that say nothing about the last hour go at the same time; those that another process
-- is about to delete are left to it.
WITH step AS MATERIALIZED (
  SELECT to_timestamp(floor(extract(epoch FROM now()) / 300) * 300) AS at
), given AS MATERIALIZED (
  SELECT *
  FROM unnest(:tenants::text[], :workers::text[], :queues::text[], :ages_secs::float8[], :completed::int[],
              :failed::int[], :expired::int[])
    AS given (tenant, worker, queue, age_secs, completed, failed, expired)
), taken AS MATERIALIZED (
  SELECT t.tenant, (
    SELECT count(*) FROM (
      SELECT FROM millrace.workers w WHERE w.tenant = t.tenant AND w.at = (SELECT at FROM step) LIMIT :max_workers::int
    ) AS w
  ) AS n
  FROM (SELECT DISTINCT tenant FROM given) AS t
), placed AS MATERIALIZED (
  SELECT given.*, known.yes,
         row_number() OVER (PARTITION BY given.tenant, known.yes ORDER BY given.worker, given.queue) AS n
  FROM given, LATERAL (
    SELECT EXISTS (
      SELECT FROM millrace.workers w
      WHERE w.tenant = given.tenant AND w.at = (SELECT at FROM step) AND w.worker = given.worker
        AND w.queue = given.queue
    ) AS yes
  ) AS known
), gone AS (
  DELETE FROM millrace.workers
  WHERE ctid = ANY (ARRAY(
    SELECT w.ctid FROM millrace.workers w WHERE w.at < now() - interval '65 minutes' ORDER BY w.at LIMIT :max_stale::int
    FOR UPDATE SKIP LOCKED
  ))
)
INSERT INTO millrace.workers AS w (at, last_seen_at, completed, failed, expired, tenant, worker, queue)
SELECT step.at, now() - p.age_secs * interval '1 second', p.completed, p.failed, p.expired, p.tenant, p.worker, p.queue
FROM placed p JOIN taken ON taken.tenant = p.tenant, step
WHERE p.yes OR taken.n + p.n <= :max_workers::int
ORDER BY p.tenant, p.worker, p.queue
ON CONFLICT (tenant, at, worker, queue) DO UPDATE
SET last_seen_at = greatest(w.last_seen_at, excluded.last_seen_at), completed = w.completed + excluded.completed,
    failed = w.failed + excluded.failed, expired = w.expired + excluded.expired;

-- name: workers_of
-- The workers that held jobs of a tenant (:tenant; of all tenants if it is null) in the last hour, the last seen first,
-- at most :max_workers of them. What they did is added up over :max_rows; what they hold is counted over as many leases
-- and bundles, which are evidence of when they were seen, too. The :max_jobs that each has held longest are named.
-- Planned anew each time, for a tenant or for all.
WITH did AS (
  SELECT w.worker, w.queue, min(w.at) AS first, max(w.last_seen_at) AS seen, sum(w.completed) AS completed,
         sum(w.failed) AS failed, sum(w.expired) AS expired
  FROM (
    SELECT w.worker, w.queue, w.at, w.last_seen_at, w.completed, w.failed, w.expired FROM millrace.workers w
    WHERE (:tenant::text IS NULL OR w.tenant = :tenant) AND w.at > now() - interval '65 minutes'
    ORDER BY w.at DESC LIMIT :max_rows::int
  ) AS w
  GROUP BY w.worker, w.queue
), leased AS MATERIALIZED (
  SELECT l.worker, coalesce(l.queue, j.queue) AS queue, l.tenant, l.id, l.started_at
  FROM (
    SELECT l.id, l.tenant, l.worker, l.queue, l.started_at FROM millrace.leases l
    WHERE (:tenant::text IS NULL OR l.tenant = :tenant) AND l.worker IS NOT NULL LIMIT :max_rows::int
  ) AS l
  LEFT JOIN LATERAL (
    SELECT j.queue FROM millrace.jobs j
    WHERE l.queue IS NULL AND j.tenant = l.tenant AND j.id = l.id OFFSET 0
  ) AS j ON true
), bundled AS MATERIALIZED (
  -- A bundle of which nobody holds anything may stay for a while, and there may be many.
  SELECT b.* FROM (
    SELECT b.worker, b.queue, b.tenant, b.ids, b.open, b.started_at FROM millrace.bundles b
    WHERE (:tenant::text IS NULL OR b.tenant = :tenant) AND b.worker IS NOT NULL LIMIT :max_rows::int
  ) AS b
  WHERE position('1' IN b.open::text) > 0
), holds AS (
  SELECT worker, queue, sum(n) AS n, min(started_at) AS first, max(started_at) AS seen
  FROM (
    SELECT worker, queue, 1 AS n, started_at FROM leased
    UNION ALL
    SELECT worker, queue, length(translate(open::text, '0', '')), started_at FROM bundled
  ) AS each
  GROUP BY worker, queue HAVING sum(n) > 0
), found AS MATERIALIZED (
  SELECT worker AS worker_id, queue AS queue_name, coalesce(holds.n, 0)::int AS running,
         greatest(did.seen, holds.seen) AS last_seen_at, least(did.first, holds.first) AS first_seen_at,
         coalesce(did.completed, 0)::int AS completed,
         coalesce(did.failed, 0)::int AS failed, coalesce(did.expired, 0)::int AS expired
  FROM did FULL JOIN holds USING (worker, queue)
  WHERE holds.n > 0 OR did.seen > now() - interval '1 hour'
  ORDER BY last_seen_at DESC, worker, queue LIMIT :max_workers::int
), placed AS MATERIALIZED (
  SELECT held.*, row_number() OVER (PARTITION BY worker, queue ORDER BY started_at, id) AS place
  FROM (
    SELECT worker, queue, tenant, id, started_at FROM leased
    UNION ALL
    SELECT b.worker, b.queue, b.tenant, member.id, b.started_at
    FROM bundled b, LATERAL unnest(b.ids) WITH ORDINALITY AS member (id, n)
    WHERE get_bit(b.open::"bit", member.n::int - 1) = 1
  ) AS held
), shown AS MATERIALIZED (
  SELECT p.worker, p.queue, json_agg(json_build_object('id', p.id, 'task_name', j.task, 'queue', p.queue,
                                                       'started_at', p.started_at::text) ORDER BY p.place) AS jobs
  FROM placed p, LATERAL (
    SELECT j.task FROM millrace.jobs j WHERE j.tenant = p.tenant AND j.id = p.id OFFSET 0
  ) AS j
  WHERE p.place <= :max_jobs::int AND (p.worker, p.queue) IN (SELECT f.worker_id, f.queue_name FROM found f)
  GROUP BY p.worker, p.queue
)
SELECT now() AS now, found.worker_id, found.queue_name, found.running, found.last_seen_at, found.completed,
       found.failed, found.expired, found.first_seen_at, coalesce(shown.jobs, '[]')::text AS running_jobs
FROM (SELECT) AS always LEFT JOIN found ON true
LEFT JOIN shown ON shown.worker = found.worker_id AND shown.queue = found.queue_name;

-- name: queues_used
-- Those of the queues that the tenant has, or had, jobs on.
SELECT asked.queue FROM unnest(:queues::text[]) AS asked (queue), LATERAL (
  SELECT FROM millrace.jobs j WHERE j.tenant = :tenant AND j.queue = asked.queue LIMIT 1
) AS one;

-- name: slots_in_use
-- How many jobs of whatever tenant these workers hold (:workers and :queues, one element of each per worker and queue).
SELECT l.worker, l.queue, count(*)::int AS n
FROM (SELECT l.worker, l.queue FROM millrace.leases l LIMIT :max_rows::int) AS l
WHERE (l.worker, l.queue) IN (
  SELECT asked.worker, asked.queue FROM unnest(:workers::text[], :queues::text[]) AS asked (worker, queue)
)
GROUP BY l.worker, l.queue;
