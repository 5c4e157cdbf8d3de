-- Queues where tenants take turns: their jobs are sorted into lines, one per tenant
-- (docs/adr/0041-shares-of-tenants.md).

-- name: end_turns
-- The end of turns: nothing is left of them once no line is. A minute after the setting, since a process that has not
-- heard of it may still be sorting. A row that says nothing else goes.
WITH span AS MATERIALIZED (
-- include: span_of_queue
), over AS MATERIALIZED (
  SELECT g.queue, g.running IS NULL AND g.rate_count IS NULL AS was_all FROM millrace.queue_limits g
  WHERE g.queue = :queue AND NOT g.share AND g.set_at < now() - interval '1 minute' AND (
    SELECT true FROM millrace.ready r
    WHERE r.waits_for > (SELECT before FROM span) AND r.waits_for <= (SELECT last FROM span)
    ORDER BY r.waits_for LIMIT 1
  ) IS NULL
  FOR NO KEY UPDATE OF g
), gone AS (
  DELETE FROM millrace.queue_limits g WHERE g.queue = :queue AND (SELECT was_all FROM over)
), kept AS (
  UPDATE millrace.queue_limits g SET share = NULL, shared_since = NULL, turn = NULL
  WHERE g.queue = :queue AND NOT (SELECT was_all FROM over)
)
SELECT queue FROM over;

-- name: place_in_turn
-- How many of its tenant are before a job, counted up to :max_jobs. No row: it is in no line.
SELECT least(:max_jobs::int, (SELECT count(*) FROM (
  SELECT FROM millrace.ready a WHERE a.waits_for = r.waits_for AND a.priority > r.priority LIMIT :max_jobs::int
) AS higher) + (SELECT count(*) FROM (
  SELECT FROM millrace.ready a
  WHERE a.waits_for = r.waits_for AND a.priority = r.priority AND (a.scheduled_at, a.id) < (r.scheduled_at, r.id)
  LIMIT :max_jobs::int
) AS earlier))::int AS ahead
FROM (
  SELECT r.waits_for, r.priority, r.scheduled_at, r.id, r.queue, r.tenant FROM millrace.ready r
  WHERE r.tenant = :tenant AND r.id = :id OFFSET 0
) AS r
WHERE r.waits_for = millrace.share_line(r.queue, r.tenant);

-- name: dissolve_lines
-- Puts jobs of lines back into claim order, :max_jobs at a time, once their tenants take turns no more. What a claim
-- has locked is left to it.
WITH span AS MATERIALIZED (
-- include: span_of_queue
), place AS MATERIALIZED (
  SELECT r.ctid AS at FROM millrace.ready r
  WHERE r.waits_for > (SELECT before FROM span) AND r.waits_for <= (SELECT last FROM span)
    AND EXISTS (SELECT FROM millrace.queue_limits g WHERE g.queue = :queue AND NOT g.share)
  ORDER BY r.waits_for LIMIT :max_jobs::int FOR UPDATE SKIP LOCKED
), back AS (
  UPDATE millrace.ready r SET later = NULL, waits_for = NULL WHERE r.ctid = ANY (ARRAY(SELECT at FROM place))
  RETURNING 1
)
SELECT count(*)::int AS back FROM back;

-- name: sort_into_lines
-- Puts jobs in claim order into the lines of their tenants, :max_jobs at a time: first those that came since tenants
-- take turns, found by their priority and instant without a walk over the backlog, then the backlog. What a claim has
-- locked is left to it.
WITH RECURSIVE gate AS MATERIALIZED (
  SELECT g.shared_since FROM millrace.queue_limits g WHERE g.queue = :queue AND g.share
), level AS (
  SELECT first.priority, 1 AS n FROM gate, LATERAL (
    SELECT r.priority FROM millrace.ready r WHERE r.queue = :queue AND r.later IS NULL
    ORDER BY r.priority DESC, r.scheduled_at, r.id LIMIT 1
  ) AS first
  UNION ALL
  SELECT next.priority, level.n + 1 FROM level, LATERAL (
    SELECT r.priority FROM millrace.ready r
    WHERE r.queue = :queue AND r.later IS NULL AND r.priority < level.priority
    ORDER BY r.priority DESC, r.scheduled_at, r.id LIMIT 1
  ) AS next
  WHERE level.n < :max_priorities::int
), fresh AS MATERIALIZED (
  SELECT one.place FROM level, LATERAL (
    SELECT r.ctid AS place FROM millrace.ready r
    WHERE r.queue = :queue AND r.later IS NULL AND r.priority = level.priority
      AND r.scheduled_at >= (SELECT shared_since FROM gate) AND r.scheduled_at <= now()
    ORDER BY r.scheduled_at, r.id LIMIT :max_jobs::int FOR UPDATE SKIP LOCKED
  ) AS one
  LIMIT :max_jobs::int
), backlog AS MATERIALIZED (
  SELECT r.ctid AS place FROM millrace.ready r
  WHERE r.queue = :queue AND r.later IS NULL AND r.scheduled_at <= now() AND EXISTS (SELECT FROM gate)
    AND (SELECT count(*) FROM fresh) < :max_jobs::int
  ORDER BY r.priority DESC, r.scheduled_at, r.id LIMIT :max_jobs::int FOR UPDATE SKIP LOCKED
), sorted AS (
  UPDATE millrace.ready r SET later = false, waits_for = millrace.share_line(r.queue, r.tenant)
  WHERE r.ctid = ANY (ARRAY(SELECT place FROM fresh UNION SELECT place FROM backlog))
  RETURNING 1
)
SELECT count(*)::int AS sorted FROM sorted;

-- fragment: span_of_queue
-- The lines of a queue are next to each other in the index: they begin with the same half (millrace.share_line).
  SELECT (half || repeat('0', 16))::uuid AS before, (half || repeat('f', 16))::uuid AS last
  FROM left(md5(:queue), 16) AS half
