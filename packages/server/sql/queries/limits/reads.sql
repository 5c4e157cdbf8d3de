-- Who waits for what, for people.

-- name: place_in_line
-- The limit in whose line a job waits, and how many are before it there, counted up to :max_jobs. No row: it waits in
-- none. Of a rate also its bucket, and how many were let in (`given`) and have been claimed since (`gone`). What the
-- job says of its limit counts until the first look at that has made its row.
SELECT coalesce(l.key, named.said ->> 'key') AS key, coalesce(l.running, 0) - noted.given_back AS running,
       CASE WHEN l.id IS NULL THEN (named.said ->> 'running')::int ELSE l.most END AS most,
       CASE WHEN l.id IS NULL THEN (named.said -> 'rate' ->> 'count')::int ELSE l.rate_count END AS rate_count,
       CASE WHEN l.id IS NULL THEN (named.said -> 'rate' ->> 'per_secs')::int ELSE l.rate_secs END AS rate_secs,
       CASE WHEN l.id IS NULL THEN (named.said -> 'rate' ->> 'burst')::int ELSE l.rate_burst END AS rate_burst,
       l.tokens, extract(epoch FROM now() - l.refilled_at)::float8 AS elapsed_secs, now()::text AS now,
       token.given, token.gone,
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
  SELECT r.tenant, r.waits_for, r.priority, r.scheduled_at, r.id FROM millrace.ready r
  WHERE r.tenant = :tenant AND r.id = :id AND r.waits_for IS NOT NULL
) AS r, LATERAL (
  SELECT each.value AS said FROM (
    SELECT j.config, j.limits FROM millrace.jobs j WHERE j.tenant = r.tenant AND j.id = r.id OFFSET 0
  ) AS j, json_array_elements(j.config -> 'limits') WITH ORDINALITY AS each (value, place)
  WHERE j.limits[each.place] = r.waits_for
) AS named LEFT JOIN LATERAL (
  SELECT l.* FROM millrace.limits l WHERE l.id = r.waits_for OFFSET 0
) AS l ON true,
-- include: noted_of_l
, LATERAL (
  SELECT count(*)::int AS given, count(*) FILTER (WHERE each.unclaimed IS NULL)::int AS gone FROM (
    SELECT r.unclaimed FROM millrace.limit_tokens t
    LEFT JOIN LATERAL (
      SELECT true AS unclaimed FROM millrace.ready r
      WHERE r.tenant = t.tenant AND r.id = t.job_id AND millrace.holds_room(r.later, r.waits_for, r.limits) OFFSET 0
    ) AS r ON true
    WHERE t.limit_id = l.id AND l.rate_count IS NOT NULL LIMIT :max_jobs::int
  ) AS each
) AS token;

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
-- For the metrics: how many jobs wait for room, counted up to :max_jobs, and since when the oldest of those is due.
-- From one line to the next by the index, and over all lines of the tenants of a queue, which are next to each other,
-- at once: so no more is read than is counted.
WITH RECURSIVE line AS (
  SELECT first.* FROM (
-- include: line_after
    WHERE r.waits_for IS NOT NULL ORDER BY r.waits_for LIMIT 1
  ) AS first
  UNION ALL
  SELECT next.* FROM line, LATERAL (
-- include: line_after
    WHERE r.waits_for > CASE WHEN line.is_limit THEN line.id
                             ELSE overlay(line.id::text PLACING 'ffff-ffffffffffff' FROM 20)::uuid END
    ORDER BY r.waits_for LIMIT 1
  ) AS next
)
SELECT count(*)::int AS waiting, extract(epoch FROM now() - min(job.scheduled_at))::float8 AS oldest_secs
FROM (
  SELECT r.scheduled_at FROM line, LATERAL (
    SELECT r.scheduled_at FROM millrace.ready r
    WHERE line.is_limit AND r.waits_for = line.id LIMIT :max_jobs::int
  ) AS r
  LIMIT :max_jobs::int
) AS job;

-- fragment: line_after
    SELECT r.waits_for AS id, coalesce(r.waits_for = ANY (r.limits), false) AS is_limit FROM millrace.ready r

-- fragment: line_of_l
-- How many wait, counted up to :max_jobs, and since when the first of each of up to a hundred priorities is due.
LATERAL (
  WITH RECURSIVE level AS (
    (SELECT r.priority, r.scheduled_at, 1 AS n FROM millrace.ready r WHERE r.waits_for = l.id
     ORDER BY r.priority DESC, r.scheduled_at, r.id LIMIT 1)
    UNION ALL
    SELECT next.priority, next.scheduled_at, level.n + 1 FROM level, LATERAL (
      SELECT r.priority, r.scheduled_at FROM millrace.ready r
      WHERE r.waits_for = l.id AND r.priority < level.priority
      ORDER BY r.priority DESC, r.scheduled_at, r.id LIMIT 1
    ) AS next
    WHERE level.n < 100
  )
  SELECT (SELECT count(*) FROM (
            SELECT FROM millrace.ready r WHERE r.waits_for = l.id LIMIT :max_jobs::int
          ) AS waiting)::int AS waiting,
         (SELECT min(level.scheduled_at) FROM level) AS oldest
) AS line

-- fragment: noted_of_l
-- What was given back, and is not counted in yet.
LATERAL (
  SELECT (coalesce(by_note.n, 0) + coalesce(by_row.n, 0))::int AS given_back FROM (
    SELECT sum(n.given_back) AS n FROM millrace.limit_notes n WHERE n.limit_id = l.id
  ) AS by_note, (
    SELECT sum(r.counts[array_position(r.limit_ids, l.id)]) AS n FROM millrace.limit_returns r
    WHERE r.tenant = l.tenant AND l.id = ANY (r.limit_ids)
  ) AS by_row
) AS noted
