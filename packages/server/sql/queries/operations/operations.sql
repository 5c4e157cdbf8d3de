-- Bulk operations (engine/operations). One that is known by its id runs while it has no
-- completed_at: the status would lead the planner to the index of all that run. A process holds one until its
-- `lease_until`. Of kinds that came after the first two, that is infinite, so that a program that does not know them
-- never takes them over; those are held until `held_until`.

-- name: create_operation
-- Takes the lowest free slot of the tenant. No row: there is none, or another request took it at the same moment.
INSERT INTO millrace.operations (created_at, before, lease_until, held_until, matched, slot, action, status, exact, id,
                                 holder, tenant, filter, scope, ids)
SELECT now(), least(now(), :before::timestamptz), CASE WHEN asked.is_later THEN 'infinity' ELSE asked.held_until END,
       CASE WHEN asked.is_later THEN asked.held_until END, :matched, free.slot, :action::millrace.operation_action,
       'running', :exact, (millrace.id_prefix(now()) || :suffix)::uuid, :holder, :tenant, :filter::json, :scope::json,
       :ids::text[]
FROM (
  SELECT :keeps::bool OR :action::millrace.operation_action > 'replay_dead_letters' AS is_later,
         now() + :held_secs::float8 * interval '1 second' AS held_until
) AS asked, (
  SELECT slot FROM generate_series(1, :max_running::int) AS slot
  WHERE NOT EXISTS (
    SELECT FROM millrace.operations o WHERE o.tenant = :tenant AND o.slot = slot.slot AND o.status = 'running'
  )
  ORDER BY slot LIMIT 1
) AS free
ON CONFLICT (tenant, slot) WHERE status = 'running' DO NOTHING
RETURNING id;

-- name: operation
-- include: records
WHERE id = :id;

-- name: operations
-- The newest first, from the one before :after.
-- include: records
WHERE tenant = :tenant AND (:after::uuid IS NULL OR id < :after)
ORDER BY id DESC LIMIT :max_operations;

-- name: stop_operation
-- Waits for the batch that is under way, and takes effect after it.
UPDATE millrace.operations
SET status = 'stopped', completed_at = now(), lease_until = NULL, holder = NULL, ids = NULL
WHERE id = :id AND completed_at IS NULL RETURNING id;

-- name: fail_operation
UPDATE millrace.operations
SET status = 'failed', completed_at = now(), lease_until = NULL, holder = NULL, ids = NULL
WHERE id = :id AND holder = :holder AND completed_at IS NULL RETURNING id;

-- name: adopt_operations
-- Operations that no living process holds, :max_operations at most, of the kinds that this program knows.
UPDATE millrace.operations
SET holder = :holder,
-- include: hold
WHERE ctid = ANY (ARRAY(
  SELECT o.ctid FROM millrace.operations o
  WHERE o.status = 'running' AND o.action <= 'resume_workflows'
    AND (o.lease_until IS NULL OR least(o.lease_until, o.held_until) < now())
  LIMIT :max_operations FOR NO KEY UPDATE SKIP LOCKED
))
RETURNING id;

-- name: keep_operations
-- Extends what a process works on. A locked row is one whose batch is under way: its end extends it too.
UPDATE millrace.operations
SET
-- include: hold
WHERE ctid = ANY (ARRAY(
  SELECT o.place FROM unnest(:ids::uuid[]) AS given (id), LATERAL (
    SELECT o.ctid AS place, o.completed_at, o.holder FROM millrace.operations o
    WHERE o.id = given.id FOR NO KEY UPDATE SKIP LOCKED
  ) AS o
  WHERE o.completed_at IS NULL AND o.holder = :holder
));

-- name: release_operations
-- A process that stops leaves what it holds to the others.
UPDATE millrace.operations
SET holder = NULL, lease_until = CASE WHEN held_until IS NOT NULL THEN 'infinity'::timestamptz END,
    held_until = CASE WHEN held_until IS NOT NULL THEN '-infinity'::timestamptz END
WHERE status = 'running' AND holder = :holder;

-- name: state_of_operation
SELECT tenant, action, status, holder, before, scope, place, ids FROM millrace.operations WHERE id = :id;

-- name: lock_operation
-- First statement of a batch. No row: it was stopped, or another process has taken over.
SELECT id FROM millrace.operations WHERE id = :id AND holder = :holder AND completed_at IS NULL FOR NO KEY UPDATE;

-- name: advance_operation
-- Last statement of a batch: :place and :ids are what is left to do, :looked_at how many were looked at, :changed how
-- many of them were changed, :replayed how many jobs were replayed, :is_over whether that was all. What was counted at
-- the beginning and did not turn up by the end has ended in between, and needed no change.
UPDATE millrace.operations o
SET place = :place, ids = CASE WHEN :is_over THEN NULL ELSE :ids::text[] END,
    done = so_far.done + so_far.missed, changed = o.changed + :changed::int,
    skipped = o.skipped + :looked_at::int - :changed::int + so_far.missed, unfinished = o.unfinished + :replayed::int,
    matched = CASE WHEN :is_over THEN so_far.done + so_far.missed ELSE greatest(o.matched, so_far.done) END,
    exact = o.exact OR :is_over,
    status = CASE WHEN :is_over THEN 'completed' ELSE o.status END,
    completed_at = CASE WHEN :is_over THEN now() END,
    lease_until = CASE WHEN :is_over THEN NULL WHEN o.held_until IS NOT NULL THEN 'infinity'
                       ELSE clock_timestamp() + :held_secs::float8 * interval '1 second' END,
    held_until = CASE WHEN NOT :is_over AND o.held_until IS NOT NULL
                      THEN clock_timestamp() + :held_secs::float8 * interval '1 second' END,
    holder = CASE WHEN NOT :is_over THEN o.holder END
FROM (
  SELECT o.done + :looked_at::int AS done,
         CASE WHEN :is_over AND o.exact THEN greatest(0, o.matched - o.done - :looked_at::int) ELSE 0 END AS missed
  FROM millrace.operations o WHERE o.id = :id
) AS so_far
WHERE o.id = :id;

-- name: count_outcome
-- Counts which of the replayed jobs have ended, if that was not done in the last :every_secs: at most :max_jobs, from
-- where the last count stopped. What has been counted is removed. A job that retention has removed counts as neither.
-- If the operation is locked, a batch is under way, and the count waits for the next look.
WITH counting AS MATERIALIZED (
  SELECT o.id, o.tenant, o.counted_to FROM millrace.operations o
  WHERE o.id = :id AND o.unfinished > 0
    AND (o.counted_at IS NULL OR o.counted_at < now() - :every_secs::float8 * interval '1 second')
  FOR NO KEY UPDATE SKIP LOCKED
), walked AS MATERIALIZED (
  SELECT j.place, j.job_id, counting.tenant FROM counting, LATERAL (
    SELECT j.ctid AS place, j.job_id FROM millrace.operation_jobs j
    WHERE j.operation_id = counting.id
      AND j.job_id > coalesce(counting.counted_to, '00000000-0000-0000-0000-000000000000')
    ORDER BY j.job_id LIMIT :max_jobs
  ) AS j
), seen AS MATERIALIZED (
  SELECT walked.place, walked.job_id, d.status, j.id IS NOT NULL AS kept
  FROM walked
  LEFT JOIN LATERAL (
    SELECT j.id FROM millrace.jobs j WHERE j.tenant = walked.tenant AND j.id = walked.job_id OFFSET 0
  ) AS j ON true
  LEFT JOIN LATERAL (
    SELECT d.status FROM unnest(ARRAY['completed', 'failed', 'cancelled']::millrace.job_status[]) AS ending (status),
    LATERAL (
      SELECT d.status FROM millrace.done d
      WHERE d.tenant = walked.tenant AND d.status = ending.status AND d.id = walked.job_id
      OFFSET 0
    ) AS d
  ) AS d ON true
), counted AS (
  DELETE FROM millrace.operation_jobs WHERE ctid = ANY (ARRAY(
    SELECT place FROM seen WHERE status IS NOT NULL OR NOT kept
  ))
)
UPDATE millrace.operations o
SET counted_at = now(), completed = o.completed + n.completed, failed = o.failed + n.failed,
    unfinished = o.unfinished - n.over,
    counted_to = CASE WHEN n.walked = :max_jobs THEN (SELECT job_id FROM seen ORDER BY job_id DESC LIMIT 1) END
FROM (
  SELECT count(*) AS walked, count(*) FILTER (WHERE status = 'completed') AS completed,
         count(*) FILTER (WHERE status <> 'completed') AS failed,
         count(*) FILTER (WHERE status IS NOT NULL OR NOT kept) AS over
  FROM seen
) AS n
WHERE o.id = ANY (ARRAY(SELECT id FROM counting));

-- name: forget_operations
-- Removes operations that ended more than :hours ago, 100 at a time, and first what is left of their jobs, 5000 at a
-- time. Returns how many rows are gone.
WITH old AS MATERIALIZED (
  SELECT o.ctid AS place, o.id FROM millrace.operations o
  WHERE o.completed_at < now() - :hours::float8 * interval '1 hour'
  ORDER BY o.completed_at LIMIT 100 FOR UPDATE SKIP LOCKED
), jobs AS (
  DELETE FROM millrace.operation_jobs WHERE ctid = ANY (ARRAY(
    SELECT j.place FROM old, LATERAL (
      SELECT j.ctid AS place FROM millrace.operation_jobs j WHERE j.operation_id = old.id OFFSET 0
    ) AS j LIMIT 5000
  ))
  RETURNING 1
), gone AS (
  DELETE FROM millrace.operations WHERE ctid = ANY (ARRAY(
    SELECT old.place FROM old
    WHERE (SELECT j.job_id FROM millrace.operation_jobs j WHERE j.operation_id = old.id LIMIT 1) IS NULL
  ))
  RETURNING 1
)
SELECT (SELECT count(*) FROM jobs)::int + (SELECT count(*) FROM gone)::int AS removed;

-- name: own_jobs
-- Which of these are jobs of the tenant, in their order.
SELECT j.id, j.queue, j.task, j.created_at
FROM unnest(:ids::uuid[]) WITH ORDINALITY AS given (id, n), LATERAL (
  SELECT j.id, j.queue, j.task, j.created_at FROM millrace.jobs j WHERE j.tenant = :tenant AND j.id = given.id OFFSET 0
) AS j
ORDER BY given.n;

-- name: own_dead_letters
SELECT d.id, d.queue, d.task, d.created_at
FROM unnest(:ids::bigint[]) WITH ORDINALITY AS given (id, n), LATERAL (
  SELECT d.id, d.tenant, d.queue, d.task, d.created_at FROM millrace.dead_letters d WHERE d.id = given.id OFFSET 0
) AS d
WHERE d.tenant = :tenant
ORDER BY given.n;

-- name: own_workflows
SELECT w.id, w.name, w.created_at
FROM unnest(:ids::uuid[]) WITH ORDINALITY AS given (id, n), LATERAL (
  SELECT w.id, w.name, w.created_at FROM millrace.workflows w WHERE w.tenant = :tenant AND w.id = given.id OFFSET 0
) AS w
ORDER BY given.n;

-- fragment: hold
    lease_until = CASE WHEN held_until IS NOT NULL THEN 'infinity'
                       ELSE now() + :held_secs::float8 * interval '1 second' END,
    held_until = CASE WHEN held_until IS NOT NULL THEN now() + :held_secs::float8 * interval '1 second' END

-- fragment: records
SELECT id, tenant, action, filter, status, matched::float8 AS matched, exact, done::float8 AS done,
       changed::float8 AS changed, skipped::float8 AS skipped, completed::float8 AS completed,
       failed::float8 AS failed, unfinished::float8 AS unfinished, created_at, completed_at
FROM millrace.operations
