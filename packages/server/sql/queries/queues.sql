-- One queue, as a tenant sees it.

-- name: queue_known
SELECT q.paused_at, q.last_lease_at, now() AS now FROM (SELECT) AS always
LEFT JOIN millrace.queues q ON q.queue = $1;

-- name: queue_by_task
-- The tenant's ($1) unfinished jobs on a queue ($2) by task, the largest first. Looks through the tenant's waiting jobs
-- if they are $3 at most, otherwise through those of the queue, no further than $3; `exact` says whether that was all.
WITH own AS MATERIALIZED (
  SELECT r.id, r.queue FROM millrace.ready r WHERE r.tenant = $1 LIMIT $3::int + 1
), near AS MATERIALIZED (
  SELECT each.id, each.tenant FROM (
    (SELECT r.id, r.tenant FROM millrace.ready r WHERE r.queue = $2 AND r.later IS NULL LIMIT $3::int + 1)
    UNION ALL
    (SELECT r.id, r.tenant FROM millrace.ready r WHERE r.queue = $2 AND r.later LIMIT $3::int + 1)
  ) AS each
  WHERE (SELECT count(*) FROM own) > $3::int LIMIT $3::int + 1
), held AS MATERIALIZED (
  SELECT l.id FROM millrace.running l WHERE l.tenant = $1 LIMIT $3::int + 1
), exact AS MATERIALIZED (
  SELECT (SELECT count(*) FROM held) <= $3::int
         AND ((SELECT count(*) FROM own) <= $3::int OR (SELECT count(*) FROM near) <= $3::int) AS exact
), found AS (
  (SELECT own.id, false AS running FROM own
   WHERE own.queue = $2 AND (SELECT count(*) FROM own) <= $3::int LIMIT $3::int)
  UNION ALL
  (SELECT near.id, false FROM near WHERE near.tenant = $1 LIMIT $3::int)
  UNION ALL
  (SELECT held.id, true FROM held LIMIT $3::int)
), tasks AS (
  SELECT j.task, count(*) FILTER (WHERE NOT found.running) AS waiting, count(*) FILTER (WHERE found.running) AS running
  FROM found, LATERAL (
    SELECT j.task, j.queue FROM millrace.jobs j WHERE j.tenant = $1 AND j.id = found.id OFFSET 0
  ) AS j
  WHERE j.queue = $2
  GROUP BY j.task ORDER BY count(*) DESC, j.task LIMIT $4::int
)
SELECT exact.exact, tasks.task AS task_name, tasks.waiting::int AS waiting, tasks.running::int AS running
FROM exact LEFT JOIN tasks ON true;

-- name: queue_next
-- The tenant's ($1) first $4 jobs on a queue ($2) in the order in which they are claimed, among the first $3 of the
-- queue of each kind: those in claim order, those that fell due since they were written, and those that are not due.
SELECT n.id, j.task AS task_name, n.priority, n.scheduled_at
FROM (
  SELECT * FROM (
    SELECT * FROM (
      SELECT r.id, r.tenant, r.priority, r.scheduled_at FROM millrace.ready r
      WHERE r.queue = $2 AND r.later IS NULL ORDER BY r.priority DESC, r.scheduled_at, r.id LIMIT $3::int
    ) AS front
    WHERE front.tenant = $1 ORDER BY front.priority DESC, front.scheduled_at, front.id LIMIT $4::int
  ) AS in_order
  UNION ALL
  SELECT * FROM (
    SELECT * FROM (
      SELECT r.id, r.tenant, r.priority, r.scheduled_at FROM millrace.ready r
      WHERE r.queue = $2 AND r.later AND r.scheduled_at <= now() ORDER BY r.scheduled_at, r.id LIMIT $3::int
    ) AS fell
    WHERE fell.tenant = $1 ORDER BY fell.priority DESC, fell.scheduled_at, fell.id LIMIT $4::int
  ) AS fell_due
  UNION ALL
  SELECT * FROM (
    SELECT * FROM (
      SELECT r.id, r.tenant, r.priority, r.scheduled_at FROM millrace.ready r
      WHERE r.queue = $2 AND r.later AND r.scheduled_at > now() ORDER BY r.scheduled_at, r.id LIMIT $3::int
    ) AS coming
    WHERE coming.tenant = $1 ORDER BY coming.scheduled_at, coming.id LIMIT $4::int
  ) AS not_due
) AS n, LATERAL (
  SELECT j.task FROM millrace.jobs j WHERE j.tenant = $1 AND j.id = n.id OFFSET 0
) AS j
ORDER BY n.scheduled_at > now(), CASE WHEN n.scheduled_at <= now() THEN n.priority END DESC, n.scheduled_at, n.id
LIMIT $4::int;
