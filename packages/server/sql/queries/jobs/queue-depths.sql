-- name: queue_depths
-- A page of queues that hold unfinished jobs of the tenant, by name, after :after; or :only one of them. All that
-- waits there is counted for each page, because no index leads from a tenant to its queues: `waiting` says how much.
-- Those that hold nothing come too, as far as series name them: a hundred at most, of the first column of their key.
-- Steps that wait for signals are on a queue that nobody named.
WITH depth AS MATERIALIZED (
  SELECT queue,
         sum(pending)::int AS pending, sum(scheduled)::int AS scheduled, sum(running)::int AS running,
         min(oldest) AS oldest, sum(retrying)::int AS retrying, sum(retrying_later)::int AS retrying_later
  FROM (
    SELECT r.queue,
           count(*) FILTER (WHERE r.scheduled_at <= now()) AS pending,
           count(*) FILTER (WHERE r.scheduled_at > now()) AS scheduled,
           0 AS running,
           min(millrace.due_since(r.id, r.scheduled_at)) FILTER (WHERE r.scheduled_at <= now()) AS oldest,
           count(*) FILTER (WHERE r.retry_count > 0) AS retrying,
           count(*) FILTER (WHERE r.retry_count > 0 AND r.scheduled_at > now()) AS retrying_later
    FROM millrace.ready r
    WHERE r.tenant = :tenant AND r.queue > :after AND (:only::text IS NULL OR r.queue = :only) GROUP BY r.queue
    UNION ALL
    SELECT j.queue, 0, 0, count(*), NULL, 0, 0
    FROM millrace.running l,
    LATERAL (SELECT j.queue FROM millrace.jobs j WHERE j.tenant = l.tenant AND j.id = l.id OFFSET 0) AS j
    WHERE l.tenant = :tenant AND j.queue > :after AND (:only::text IS NULL OR j.queue = :only) GROUP BY j.queue
    UNION ALL
    SELECT n.queue, 0, 0, 0, NULL, 0, 0
    FROM millrace.series_names n
    WHERE n.tenant = :tenant AND n.queue > :after AND (:only::text IS NULL OR n.queue = :only)
      AND n.queue <> 'millrace:waits'
  ) AS counted
  GROUP BY queue
), page AS (
  SELECT * FROM depth ORDER BY queue LIMIT :limit::int
)
SELECT page.queue, page.pending, page.scheduled, page.running,
       trunc(extract(epoch FROM now() - page.oldest))::float8 AS oldest_pending_age_secs, page.retrying,
       page.retrying_later, q.paused_at, q.paused_reason, q.paused_by, q.last_lease_at,
       (SELECT s.settings FROM millrace.queue_settings s WHERE s.queue = page.queue)::text AS settings, now() AS now,
       (SELECT sum(depth.pending + depth.scheduled) FROM depth)::float8 AS waiting
FROM page LEFT JOIN millrace.queue_marks q ON q.queue = page.queue
ORDER BY page.queue;
