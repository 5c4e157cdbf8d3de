-- One queue, as a tenant sees it.

-- name: queue_known
SELECT q.paused_at, q.paused_reason, q.paused_by, q.last_lease_at,
       (SELECT s.settings FROM millrace.queue_settings s WHERE s.queue = :queue)::text AS settings, now() AS now
FROM (SELECT) AS always
LEFT JOIN millrace.queue_marks q ON q.queue = :queue;

-- name: queue_by_task
-- The tenant's unfinished jobs on a queue by task, the largest first. Looks through the tenant's waiting jobs if they
-- are :max_rows at most, otherwise through those of the queue, no further than :max_rows: in claim order, in the line
-- of the tenant, in those of its keys, and asleep until they join one. `exact` says whether that was all.
WITH own AS MATERIALIZED (
  SELECT r.id, r.queue, r.scheduled_at, r.retry_count FROM millrace.ready r
  WHERE r.tenant = :tenant LIMIT :max_rows::int + 1
), asleep AS MATERIALIZED (
  SELECT r.id, r.tenant, r.queue, r.scheduled_at, r.retry_count FROM millrace.ready r
  WHERE NOT r.later AND r.waits_for IS NULL AND (SELECT count(*) FROM own) > :max_rows::int
  ORDER BY r.scheduled_at, r.id LIMIT :max_rows::int + 1
), key AS MATERIALIZED (
  SELECT l.id, l.waiting FROM millrace.limits l
  WHERE l.tenant = :tenant AND l.queue = :queue AND l.key IS NOT NULL AND (SELECT count(*) FROM own) > :max_rows::int
  LIMIT :max_rows::int + 1
), near AS MATERIALIZED (
  SELECT each.id, each.tenant, each.scheduled_at, each.retry_count FROM (
    (SELECT r.id, r.tenant, r.scheduled_at, r.retry_count FROM millrace.ready r
     WHERE r.queue = :queue AND r.later IS NULL LIMIT :max_rows::int + 1)
    UNION ALL
    (SELECT r.id, r.tenant, r.scheduled_at, r.retry_count FROM millrace.ready r
     WHERE r.queue = :queue AND r.later LIMIT :max_rows::int + 1)
    UNION ALL
    (SELECT r.id, r.tenant, r.scheduled_at, r.retry_count FROM millrace.ready r
     WHERE r.waits_for = millrace.share_line(:queue, :tenant) AND r.queue = :queue LIMIT :max_rows::int + 1)
    UNION ALL
    (SELECT r.id, r.tenant, r.scheduled_at, r.retry_count FROM key, LATERAL (
       SELECT r.id, r.tenant, r.scheduled_at, r.retry_count FROM millrace.ready r
       WHERE key.waiting AND r.waits_for = key.id LIMIT :max_rows::int + 1
     ) AS r LIMIT :max_rows::int + 1)
    UNION ALL
    SELECT asleep.id, asleep.tenant, asleep.scheduled_at, asleep.retry_count FROM asleep WHERE asleep.queue = :queue
  ) AS each
  WHERE (SELECT count(*) FROM own) > :max_rows::int LIMIT :max_rows::int + 1
), held AS MATERIALIZED (
  SELECT l.id FROM millrace.running l WHERE l.tenant = :tenant LIMIT :max_rows::int + 1
), exact AS MATERIALIZED (
  SELECT (SELECT count(*) FROM held) <= :max_rows::int
         AND ((SELECT count(*) FROM own) <= :max_rows::int OR (
           (SELECT count(*) FROM near) <= :max_rows::int AND (SELECT count(*) FROM asleep) <= :max_rows::int
           AND (SELECT count(*) FROM key) <= :max_rows::int
         )) AS exact
), found AS (
  (SELECT own.id, own.scheduled_at <= now() AS due, own.retry_count > 0 AS again FROM own
   WHERE own.queue = :queue AND (SELECT count(*) FROM own) <= :max_rows::int LIMIT :max_rows::int)
  UNION ALL
  (SELECT near.id, near.scheduled_at <= now(), near.retry_count > 0 FROM near
   WHERE near.tenant = :tenant LIMIT :max_rows::int)
  UNION ALL
  (SELECT held.id, NULL, false FROM held LIMIT :max_rows::int)
), tasks AS (
  SELECT j.task, count(*) FILTER (WHERE found.due) AS waiting, count(*) FILTER (WHERE NOT found.due) AS scheduled,
         count(*) FILTER (WHERE found.again) AS retrying,
         count(*) FILTER (WHERE found.again AND NOT found.due) AS retrying_later,
         count(*) FILTER (WHERE found.due IS NULL) AS running
  FROM found, LATERAL (
    SELECT j.task, j.queue FROM millrace.jobs j WHERE j.tenant = :tenant AND j.id = found.id OFFSET 0
  ) AS j
  WHERE j.queue = :queue
  GROUP BY j.task ORDER BY count(*) DESC, j.task LIMIT :max_tasks::int
)
SELECT exact.exact, tasks.task AS task_name, tasks.waiting::int AS waiting, tasks.scheduled::int AS scheduled,
       tasks.retrying::int AS retrying, tasks.retrying_later::int AS retrying_later, tasks.running::int AS running
FROM exact LEFT JOIN tasks ON true;

-- name: queue_next
-- The tenant's first :max_jobs on a queue in the order in which they are claimed, among the first :max_rows of the
-- queue of each kind: those in claim order, those that fell due since they were written, and those that are not due.
-- Those that wait for room at their keys come after what may be claimed.
SELECT n.id, j.task AS task_name, n.priority, n.scheduled_at
FROM (
  SELECT *, false AS limited FROM (
    SELECT * FROM (
      SELECT r.id, r.tenant, r.priority, r.scheduled_at FROM millrace.ready r
      WHERE r.queue = :queue AND r.later IS NULL ORDER BY r.priority DESC, r.scheduled_at, r.id LIMIT :max_rows::int
    ) AS front
    WHERE front.tenant = :tenant ORDER BY front.priority DESC, front.scheduled_at, front.id LIMIT :max_jobs::int
  ) AS in_order
  UNION ALL
  SELECT *, false FROM (
    SELECT * FROM (
      SELECT r.id, r.tenant, r.priority, r.scheduled_at FROM millrace.ready r
      WHERE r.queue = :queue AND r.later AND r.scheduled_at <= now() ORDER BY r.scheduled_at, r.id LIMIT :max_rows::int
    ) AS fell
    WHERE fell.tenant = :tenant ORDER BY fell.priority DESC, fell.scheduled_at, fell.id LIMIT :max_jobs::int
  ) AS fell_due
  UNION ALL
  SELECT *, false FROM (
    SELECT r.id, r.tenant, r.priority, r.scheduled_at FROM millrace.ready r
    WHERE r.waits_for = millrace.share_line(:queue, :tenant) AND r.queue = :queue
    ORDER BY r.priority DESC, r.scheduled_at, r.id LIMIT :max_jobs::int
  ) AS in_turn
  UNION ALL
  SELECT *, true FROM (
    SELECT r.* FROM (
      SELECT l.id, l.waiting FROM millrace.limits l
      WHERE l.tenant = :tenant AND l.queue = :queue AND l.key IS NOT NULL LIMIT :max_rows::int
    ) AS l, LATERAL (
      SELECT r.id, r.tenant, r.priority, r.scheduled_at FROM millrace.ready r
      WHERE l.waiting AND r.waits_for = l.id
      ORDER BY r.priority DESC, r.scheduled_at, r.id LIMIT :max_jobs::int
    ) AS r
    ORDER BY r.priority DESC, r.scheduled_at, r.id LIMIT :max_jobs::int
  ) AS in_line
  UNION ALL
  SELECT *, true FROM (
    SELECT * FROM (
      SELECT r.id, r.tenant, r.priority, r.scheduled_at FROM (
        SELECT r.id, r.tenant, r.queue, r.priority, r.scheduled_at FROM millrace.ready r
        WHERE NOT r.later AND r.waits_for IS NULL ORDER BY r.scheduled_at, r.id LIMIT :max_rows::int
      ) AS r
      WHERE r.queue = :queue
    ) AS asleep
    WHERE asleep.tenant = :tenant ORDER BY asleep.scheduled_at, asleep.id LIMIT :max_jobs::int
  ) AS asleep
  UNION ALL
  SELECT *, false FROM (
    SELECT * FROM (
      SELECT r.id, r.tenant, r.priority, r.scheduled_at FROM millrace.ready r
      WHERE r.queue = :queue AND r.later AND r.scheduled_at > now() ORDER BY r.scheduled_at, r.id LIMIT :max_rows::int
    ) AS coming
    WHERE coming.tenant = :tenant ORDER BY coming.scheduled_at, coming.id LIMIT :max_jobs::int
  ) AS not_due
) AS n, LATERAL (
  SELECT j.task FROM millrace.jobs j WHERE j.tenant = :tenant AND j.id = n.id OFFSET 0
) AS j
ORDER BY n.scheduled_at > now(), n.limited AND n.scheduled_at <= now(),
         CASE WHEN n.scheduled_at <= now() THEN n.priority END DESC, n.scheduled_at, n.id
LIMIT :max_jobs::int;

-- name: queue_held
-- How many jobs of a queue each of these workers holds.
SELECT l.worker, count(*)::int AS n
FROM (SELECT l.queue, l.worker FROM millrace.leases l LIMIT :max_rows::int) AS l
WHERE l.queue = :queue AND l.worker = ANY (:workers::text[])
GROUP BY l.worker;
