-- Bulk operations (engine/operations). One that is known by its id runs while it has no
-- completed_at: the status would lead the planner to the index of all that run.

-- name: create_operation
-- Takes the lowest free slot of the tenant. No row: there is none, or another request took it at the same moment.
INSERT INTO millrace.operations (created_at, before, lease_until, matched, slot, action, status, exact, id, holder,
                                 tenant, filter, scope, ids)
SELECT now(), least(now(), $7::timestamptz), now() + $11::float8 * interval '1 second', $8, free.slot,
       $3::millrace.operation_action, 'running', $9, (millrace.id_prefix(now()) || $2)::uuid, $10, $1, $4::json,
       $5::json, $6::text[]
FROM (
  SELECT slot FROM generate_series(1, $12::int) AS slot
  WHERE NOT EXISTS (
    SELECT FROM millrace.operations o WHERE o.tenant = $1 AND o.slot = slot.slot AND o.status = 'running'
  )
  ORDER BY slot LIMIT 1
) AS free
ON CONFLICT (tenant, slot) WHERE status = 'running' DO NOTHING
RETURNING id;

-- name: operation
SELECT id, tenant, action, filter, status, matched::float8 AS matched, exact, done::float8 AS done,
       changed::float8 AS changed, skipped::float8 AS skipped, completed::float8 AS completed,
       failed::float8 AS failed, unfinished::float8 AS unfinished, created_at, completed_at
FROM millrace.operations WHERE id = $1;

-- name: operations
-- The newest first; $2: after this one.
SELECT id, tenant, action, filter, status, matched::float8 AS matched, exact, done::float8 AS done,
       changed::float8 AS changed, skipped::float8 AS skipped, completed::float8 AS completed,
       failed::float8 AS failed, unfinished::float8 AS unfinished, created_at, completed_at
FROM millrace.operations
WHERE tenant = $1 AND ($2::uuid IS NULL OR id < $2)
ORDER BY id DESC LIMIT $3;

-- name: stop_operation
-- Waits for the batch that is under way, and takes effect after it.
UPDATE millrace.operations
SET status = 'stopped', completed_at = now(), lease_until = NULL, holder = NULL, ids = NULL
WHERE id = $1 AND completed_at IS NULL RETURNING id;

-- name: fail_operation
UPDATE millrace.operations
SET status = 'failed', completed_at = now(), lease_until = NULL, holder = NULL, ids = NULL
WHERE id = $1 AND holder = $2 AND completed_at IS NULL RETURNING id;

-- name: adopt_operations
-- Operations that no living process holds, $3 at most.
UPDATE millrace.operations
SET holder = $1, lease_until = now() + $2::float8 * interval '1 second'
WHERE ctid = ANY (ARRAY(
  SELECT o.ctid FROM millrace.operations o
  WHERE o.status = 'running' AND (o.lease_until IS NULL OR o.lease_until < now())
  LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
))
RETURNING id;

-- name: keep_operations
-- Extends what a process works on. A locked row is one whose batch is under way: its end extends it too.
UPDATE millrace.operations
SET lease_until = now() + $2::float8 * interval '1 second'
WHERE ctid = ANY (ARRAY(
  SELECT o.place FROM unnest($3::uuid[]) AS given (id), LATERAL (
    SELECT o.ctid AS place, o.completed_at, o.holder FROM millrace.operations o
    WHERE o.id = given.id FOR NO KEY UPDATE SKIP LOCKED
  ) AS o
  WHERE o.completed_at IS NULL AND o.holder = $1
));

-- name: release_operations
-- A process that stops leaves what it holds to the others.
UPDATE millrace.operations SET holder = NULL, lease_until = NULL WHERE status = 'running' AND holder = $1;

-- name: state_of_operation
SELECT tenant, action, status, holder, before, scope, place, ids FROM millrace.operations WHERE id = $1;

-- name: lock_operation
-- First statement of a batch. No row: it was stopped, or another process has taken over.
SELECT id FROM millrace.operations WHERE id = $1 AND holder = $2 AND completed_at IS NULL FOR NO KEY UPDATE;

-- name: advance_operation
-- Last statement of a batch: $2 and $3 are what is left to do, $4 how many were looked at, $5 how many of them were
-- changed, $6 how many jobs were replayed, $7 whether that was all. What was counted at the beginning and did not turn
-- up by the end has ended in between, and needed no change.
UPDATE millrace.operations o
SET place = $2, ids = CASE WHEN $7 THEN NULL ELSE $3::text[] END,
    done = so_far.done + so_far.missed, changed = o.changed + $5::int,
    skipped = o.skipped + $4::int - $5::int + so_far.missed, unfinished = o.unfinished + $6::int,
    matched = CASE WHEN $7 THEN so_far.done + so_far.missed ELSE greatest(o.matched, so_far.done) END,
    exact = o.exact OR $7,
    status = CASE WHEN $7 THEN 'completed' ELSE o.status END,
    completed_at = CASE WHEN $7 THEN now() END,
    lease_until = CASE WHEN NOT $7 THEN clock_timestamp() + $8::float8 * interval '1 second' END,
    holder = CASE WHEN NOT $7 THEN o.holder END
FROM (
  SELECT o.done + $4::int AS done,
         CASE WHEN $7 AND o.exact THEN greatest(0, o.matched - o.done - $4::int) ELSE 0 END AS missed
  FROM millrace.operations o WHERE o.id = $1
) AS so_far
WHERE o.id = $1;

-- name: jobs_to_cancel
-- What jobs are at this moment.
SELECT r.id, r.status, r.workflow_id, r.step
FROM unnest($2::uuid[]) AS given (id), LATERAL (
  SELECT r.id, r.status, r.workflow_id, r.step FROM millrace.job_records r
  WHERE r.tenant = $1 AND r.id = given.id OFFSET 0
) AS r;

-- name: letters_to_replay
-- As many of the given ones, in their order, as are to be replayed together: at least one, and others while their jobs
-- come to at most $3 bytes as they are stored.
SELECT sized.id, sized.job_id, sized.metadata
FROM (
  SELECT given.n, given.id, d.job_id, j.metadata, sum(coalesce(j.bytes, 0)) OVER (ORDER BY given.n) AS bytes
  FROM unnest($2::bigint[]) WITH ORDINALITY AS given (id, n)
  LEFT JOIN LATERAL (
    SELECT d.tenant, d.job_id FROM millrace.dead_letters d WHERE d.id = given.id OFFSET 0
  ) AS d ON d.tenant = $1
  LEFT JOIN LATERAL (
    SELECT j.metadata, pg_column_size(j.payload) + coalesce(pg_column_size(j.metadata), 0)
                       + coalesce(j.context_bytes, 0) AS bytes
    FROM millrace.jobs j WHERE j.tenant = d.tenant AND j.id = d.job_id OFFSET 0
  ) AS j ON true
) AS sized
WHERE sized.n = 1 OR sized.bytes <= $3
ORDER BY sized.n;

-- name: replay_letters
-- As `replay` in dead-letters.sql, for many, and notes the new jobs so that their outcome can be counted.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), original AS MATERIALIZED (
  SELECT given.id AS letter, clock.now, (clock.prefix || given.suffix)::uuid AS id, given.metadata,
         j.priority, j.tenant, j.queue, j.task, j.config,
         CASE WHEN j.context IS NULL THEN j.payload ELSE (
           SELECT (CASE j.payload::text WHEN '{}' THEN '{' ELSE left(j.payload::text, -1) || ',' END
                   || '"_context":' || c.context::text || '}')::json
           FROM millrace.workflow_contexts c WHERE c.workflow_id = j.workflow_id AND c.version = j.context
         ) END AS payload
  FROM clock, unnest($2::bigint[], $3::text[], $4::json[]) AS given (id, suffix, metadata),
  LATERAL (
    SELECT d.tenant, d.job_id, d.replayed_at FROM millrace.dead_letters d WHERE d.id = given.id OFFSET 0
  ) AS d,
  LATERAL (
    SELECT j.priority, j.tenant, j.queue, j.task, j.config, j.payload, j.context, j.workflow_id
    FROM millrace.jobs j WHERE j.tenant = d.tenant AND j.id = d.job_id OFFSET 0
  ) AS j
  WHERE d.tenant = $1 AND d.replayed_at IS NULL
), taken AS (
  UPDATE millrace.dead_letters d
  SET replayed_at = j.now, replay_job_id = j.id
  FROM original j
  WHERE d.id = ANY (ARRAY(SELECT letter FROM original)) AND d.id = j.letter AND d.replayed_at IS NULL
  RETURNING j.now, j.id, j.priority, j.tenant, j.queue, j.task, j.payload, j.config, j.metadata
), stored AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config, metadata)
  SELECT now, priority, id, tenant, queue, task, payload, config, metadata FROM taken
), queued AS (
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, size)
  SELECT now, priority, 0, 0, id, tenant, queue, millrace.job_size(payload, metadata, NULL) FROM taken
), noted AS (
  INSERT INTO millrace.operation_jobs (operation_id, job_id) SELECT $5, id FROM taken
)
SELECT queue, task, priority FROM taken;

-- name: count_outcome
-- Counts which of the replayed jobs have ended, if that was not done in the last $2 seconds: $3 jobs at most, from
-- where the last count stopped. What has been counted is removed. A job that retention has removed counts as neither.
-- If the operation is locked, a batch is under way, and the count waits for the next look.
WITH counting AS MATERIALIZED (
  SELECT o.id, o.tenant, o.counted_to FROM millrace.operations o
  WHERE o.id = $1 AND o.unfinished > 0
    AND (o.counted_at IS NULL OR o.counted_at < now() - $2::float8 * interval '1 second')
  FOR NO KEY UPDATE SKIP LOCKED
), walked AS MATERIALIZED (
  SELECT j.place, j.job_id, counting.tenant FROM counting, LATERAL (
    SELECT j.ctid AS place, j.job_id FROM millrace.operation_jobs j
    WHERE j.operation_id = counting.id
      AND j.job_id > coalesce(counting.counted_to, '00000000-0000-0000-0000-000000000000')
    ORDER BY j.job_id LIMIT $3
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
    counted_to = CASE WHEN n.walked = $3 THEN (SELECT job_id FROM seen ORDER BY job_id DESC LIMIT 1) END
FROM (
  SELECT count(*) AS walked, count(*) FILTER (WHERE status = 'completed') AS completed,
         count(*) FILTER (WHERE status <> 'completed') AS failed,
         count(*) FILTER (WHERE status IS NOT NULL OR NOT kept) AS over
  FROM seen
) AS n
WHERE o.id = ANY (ARRAY(SELECT id FROM counting));

-- name: forget_operations
-- Removes operations that ended more than $1 hours ago, 100 at a time, and first what is left of their jobs, 5000 at a
-- time. Returns how many rows are gone.
WITH old AS MATERIALIZED (
  SELECT o.ctid AS place, o.id FROM millrace.operations o
  WHERE o.completed_at < now() - $1::float8 * interval '1 hour'
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
FROM unnest($2::uuid[]) WITH ORDINALITY AS given (id, n), LATERAL (
  SELECT j.id, j.queue, j.task, j.created_at FROM millrace.jobs j WHERE j.tenant = $1 AND j.id = given.id OFFSET 0
) AS j
ORDER BY given.n;

-- name: own_dead_letters
SELECT d.id, d.queue, d.task, d.created_at
FROM unnest($2::bigint[]) WITH ORDINALITY AS given (id, n), LATERAL (
  SELECT d.id, d.tenant, d.queue, d.task, d.created_at FROM millrace.dead_letters d WHERE d.id = given.id OFFSET 0
) AS d
WHERE d.tenant = $1
ORDER BY given.n;
