-- Who waits for what, for people.

-- name: place_in_line
-- The limit in whose line a job waits, and how many are before it there, counted up to :max_jobs. No row: it waits in
-- none.
SELECT l.key, l.running - noted.given_back AS running, l.most, l.rate_count, l.rate_secs, l.rate_burst,
       greatest(0, extract(epoch FROM l.next_at - now()))::float8 AS next_secs, now()::text AS now,
       least(:max_jobs::int, (SELECT count(*) FROM (
  SELECT FROM millrace.ready a
  WHERE a.waits_for = r.waits_for AND a.priority > r.priority
  LIMIT :max_jobs::int
) AS higher) + (SELECT count(*) FROM (
  SELECT FROM millrace.ready a
  WHERE a.waits_for = r.waits_for AND a.priority = r.priority AND (a.scheduled_at, a.id) < (r.scheduled_at, r.id)
  LIMIT :max_jobs::int
) AS earlier))::int AS ahead
FROM (
  SELECT r.waits_for, r.priority, r.scheduled_at, r.id FROM millrace.ready r
  WHERE r.tenant = :tenant AND r.id = :id AND r.waits_for IS NOT NULL
) AS r, LATERAL (
  SELECT l.* FROM millrace.limits l WHERE l.id = r.waits_for OFFSET 0
) AS l,
-- include: noted_of_l
;

-- name: limits_of_tenant
-- A page of a tenant's limits, by queue and key, after the last of the page before.
SELECT l.tenant, l.queue, l.key, l.running - noted.given_back AS running, l.most, l.rate_count, l.rate_secs,
       l.rate_burst, line.waiting, line.oldest
FROM (
  SELECT l.* FROM millrace.limits l
  WHERE l.tenant = :tenant AND l.key IS NOT NULL AND (:only::text IS NULL OR l.queue = :only)
    AND (l.queue, l.key) > (:after_queue, :after_key)
  ORDER BY l.queue, l.key LIMIT :limit::int
) AS l,
-- include: line_of_l
,
-- include: noted_of_l
ORDER BY l.queue, l.key;

-- name: limits_of_all
-- The same for all tenants.
SELECT l.tenant, l.queue, l.key, l.running - noted.given_back AS running, l.most, l.rate_count, l.rate_secs,
       l.rate_burst, line.waiting, line.oldest
FROM (
  SELECT l.* FROM millrace.limits l
  WHERE l.key IS NOT NULL AND (:only::text IS NULL OR l.queue = :only)
    AND (l.tenant, l.queue, l.key) > (:after_tenant, :after_queue, :after_key)
  ORDER BY l.tenant, l.queue, l.key LIMIT :limit::int
) AS l,
-- include: line_of_l
,
-- include: noted_of_l
ORDER BY l.tenant, l.queue, l.key;

-- name: waiting_for_room
-- For the metrics: how many jobs wait for room, counted up to :max_jobs, and since when the oldest of them is due.
SELECT count(*)::int AS waiting, extract(epoch FROM now() - min(line.scheduled_at))::float8 AS oldest_secs
FROM (
  SELECT r.scheduled_at FROM millrace.ready r
  WHERE r.waits_for IS NOT NULL AND r.waits_for = ANY (r.limits) LIMIT :max_jobs::int
) AS line;

-- fragment: line_of_l
LATERAL (
  SELECT count(*)::int AS waiting, min(line.scheduled_at) AS oldest FROM (
    SELECT r.scheduled_at FROM millrace.ready r WHERE r.waits_for = l.id LIMIT :max_jobs::int
  ) AS line
) AS line

-- fragment: noted_of_l
-- What was given back, and is not counted in yet.
LATERAL (
  SELECT coalesce(sum(n.given_back), 0)::int AS given_back FROM millrace.limit_notes n WHERE n.limit_id = l.id
) AS noted
