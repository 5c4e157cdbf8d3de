-- name: cron_clock
-- The database's time in milliseconds since 1970, from which the next occurrence is computed.
SELECT (extract(epoch FROM now()) * 1000)::float8 AS now_ms;

-- name: create_cron
-- :first_ms is the first occurrence after the time that cron_clock returned. If it has passed in the meantime, nothing
-- is stored and the caller computes it again: a schedule begins after its creation. If there is no id although `ahead`
-- is true, the name is taken. Schedulers may be asleep until later than :first_ms; the notification that wakes them is
-- part of the commit, so no crash can come between the two.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, (millrace.id_prefix(now()) || :suffix::text)::uuid AS id,
         to_timestamp(:first_ms::float8 / 1000) AS first
), created AS (
  INSERT INTO millrace.crons (created_at, next_run_at, priority, id, tenant, name, expr, timezone, task, queue,
                              payload, config, job_config, limits, skips, workflow)
  SELECT now, first, :priority, id, :tenant, :name, :expr, :timezone, :task, :queue, :payload::json, :config::json,
         :job_config::json, :limits::uuid[], :skips::bool, :workflow::json
  FROM clock WHERE first > now
  ON CONFLICT (tenant, name) WHERE name IS NOT NULL DO NOTHING
  RETURNING id
)
SELECT clock.first > clock.now AS ahead, created.id,
       CASE WHEN created.id IS NOT NULL
         THEN pg_notify('millrace', json_build_object('c', :first_ms::float8)::text) END AS told
FROM clock LEFT JOIN created ON true;

-- name: put_cron
-- Creates the schedule with this name or replaces it, leaving `enabled` as it is. If the expression and the time zone
-- are unchanged, the schedule also keeps its next occurrence, even one that is due. Otherwise it starts over at
-- :first_ms, the first occurrence after the time that cron_clock returned. No row comes back if that has passed in the
-- meantime; the caller then computes it again. The new revision invalidates every firing planned from the old
-- expression. xmax is 0 in a row that was inserted.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, (millrace.id_prefix(now()) || :suffix::text)::uuid AS id,
         to_timestamp(:first_ms::float8 / 1000) AS first
)
INSERT INTO millrace.crons AS c
  (created_at, next_run_at, priority, id, tenant, name, expr, timezone, task, queue, payload, config, job_config,
   limits, skips, workflow)
SELECT now, first, :priority, id, :tenant, :name, :expr, :timezone, :task, :queue, :payload::json, :config::json,
       :job_config::json, :limits::uuid[], :skips::bool, :workflow::json
FROM clock WHERE first > now
ON CONFLICT (tenant, name) WHERE name IS NOT NULL DO UPDATE
SET next_run_at = CASE WHEN c.expr = excluded.expr AND c.timezone = excluded.timezone THEN c.next_run_at
                       ELSE excluded.next_run_at END,
    priority = excluded.priority, expr = excluded.expr, timezone = excluded.timezone, task = excluded.task,
    queue = excluded.queue, payload = excluded.payload, config = excluded.config, job_config = excluded.job_config,
    limits = excluded.limits, skips = excluded.skips, workflow = excluded.workflow, revision = c.revision + 1
RETURNING c.id, c.xmax = 0 AS created, pg_notify('millrace', json_build_object('c', :first_ms::float8)::text) AS told;

-- name: put_ended_cron
-- The same for an expression whose last occurrence has passed: no schedule can be created with it, but one that already
-- has it is replaced as usual.
UPDATE millrace.crons
SET priority = :priority, task = :task, queue = :queue, payload = :payload::json, config = :config::json,
    job_config = :job_config::json, limits = :limits::uuid[], skips = :skips::bool, workflow = :workflow::json,
    revision = revision + 1
WHERE tenant = :tenant AND name = :name AND expr = :expr AND timezone = :timezone
RETURNING id;

-- name: cron_of_tenant
SELECT c.tenant, c.id, c.name, c.expr, c.timezone, c.revision, c.task, c.queue, c.payload, c.config, c.enabled,
       c.skips, c.workflow, c.next_run_at, c.last_enqueued_at, c.created_at,
       (extract(epoch FROM now()) * 1000)::float8 AS now_ms
FROM millrace.crons c WHERE c.tenant = :tenant AND c.id = :id;

-- name: owner_of_cron
-- Finds a schedule's owner by the id alone, to tell 403 from 404.
SELECT found.tenant
FROM millrace.tenants t,
LATERAL (SELECT c.tenant FROM millrace.crons c WHERE c.tenant = t.tenant AND c.id = :id OFFSET 0) AS found
WHERE t.bucket = :bucket;

-- name: pause_cron
-- If :revision is given, only that revision is paused.
UPDATE millrace.crons SET enabled = false
WHERE tenant = :tenant AND id = :id AND (:revision::bigint IS NULL OR revision = :revision)
RETURNING id;

-- name: resume_cron
-- :first_ms is the first occurrence after the time at which the schedule was read as paused, by the expression of that
-- :revision. Missed occurrences are not run.
UPDATE millrace.crons SET enabled = true, next_run_at = to_timestamp(:first_ms::float8 / 1000)
WHERE tenant = :tenant AND id = :id AND NOT enabled AND revision = :revision
  AND to_timestamp(:first_ms::float8 / 1000) > now()
RETURNING id, pg_notify('millrace', json_build_object('c', :first_ms::float8)::text) AS told;

-- name: trigger_cron
-- Enqueues a schedule's job now, paused or not, without affecting when it fires: next_run_at stays the same, and that
-- occurrence still gets its own job. The firing is recorded as `triggered`. A job with limits joins the line of its
-- first one, and all of them hear of its numbers.
WITH triggered AS (
  UPDATE millrace.crons c
  SET last_enqueued_at = now(), fired = c.fired + 1,
      last_job_id = (millrace.id_prefix(now()) || millrace.marked_suffix(:suffix::text, c.job_config))::uuid,
      last_workflow_id = NULL
  WHERE c.tenant = :tenant AND c.id = :id AND c.task IS NOT NULL
  RETURNING c.tenant, c.id, c.name, c.task, c.queue, c.priority, c.payload, c.job_config, c.fired AS number,
            c.limits, millrace.expiry(c.job_config, now()) AS expires_at, c.last_job_id AS job_id
), stored AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config, metadata, limits)
  SELECT now(), priority, job_id, tenant, queue, task, payload, job_config,
         json_build_object('cron_id', id, 'cron_name', name), limits
  FROM triggered
), queued AS (
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, later, size,
                              limits, waits_for, expires_at)
  SELECT now(), priority, 0, 0, job_id, tenant, queue, CASE WHEN limits IS NOT NULL THEN false END,
         millrace.job_size(payload, NULL, NULL), limits, limits[1], expires_at
  FROM triggered
), noted AS (
  INSERT INTO millrace.limit_notes (given_back, limit_id, job_id, tenant)
  SELECT 0, each.id, job_id, tenant FROM triggered, unnest(triggered.limits) AS each (id)
), recorded AS (
  INSERT INTO millrace.cron_firings (occurrence, fired_at, number, slot, kind, job_id, cron_id, tenant)
  SELECT now(), now(), number, number % :slots::int, 'triggered', job_id, id, tenant FROM triggered
  ON CONFLICT (tenant, cron_id, slot) DO UPDATE
  SET occurrence = excluded.occurrence, fired_at = excluded.fired_at, number = excluded.number, kind = excluded.kind,
      job_id = excluded.job_id, workflow_id = NULL
)
SELECT job_id, queue, task, priority, limits[1] AS waits_for FROM triggered;

-- name: delete_cron
-- Jobs that the schedule has created stay.
DELETE FROM millrace.crons WHERE tenant = :tenant AND id = :id RETURNING id;

-- name: delete_firings
-- The firings are deleted with their schedule, in the same transaction but in a later statement: only a later statement
-- sees a firing that was committed while the deletion of the schedule waited for it.
DELETE FROM millrace.cron_firings WHERE tenant = :tenant AND cron_id = :id;
