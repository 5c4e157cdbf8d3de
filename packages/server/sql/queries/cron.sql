-- name: cron_clock
-- The database's time in milliseconds since 1970, from which the next occurrence is computed.
SELECT (extract(epoch FROM now()) * 1000)::float8 AS now_ms;

-- name: create_cron
-- $2 is the first occurrence after the time that cron_clock returned. If it has passed in the meantime, nothing is
-- stored and the caller computes it again: a schedule begins after its creation. If there is no id although `ahead` is
-- true, the name is taken. Schedulers may be asleep until later than $2; the notification that wakes them is part of
-- the commit, so no crash can come between the two.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, (millrace.id_prefix(now()) || $1::text)::uuid AS id, to_timestamp($2::float8 / 1000) AS first
), created AS (
  INSERT INTO millrace.crons (created_at, next_run_at, priority, id, tenant, name, expr, timezone, task, queue,
                              payload, config, job_config)
  SELECT now, first, $3, id, $4, $5, $6, $7, $8, $9, $10::json, $11::json, $12::json FROM clock WHERE first > now
  ON CONFLICT (tenant, name) WHERE name IS NOT NULL DO NOTHING
  RETURNING id
)
SELECT clock.first > clock.now AS ahead, created.id,
       CASE WHEN created.id IS NOT NULL
         THEN pg_notify('millrace', json_build_object('c', $2::float8)::text) END AS told
FROM clock LEFT JOIN created ON true;

-- name: put_cron
-- Creates the schedule with this name or replaces it, leaving `enabled` as it is. If the expression and the time zone
-- are unchanged, the schedule also keeps its next occurrence, even one that is due. Otherwise it starts over at $2, the
-- first occurrence after the time that cron_clock returned. No row comes back if that has passed in the meantime; the
-- caller then computes it again. The new revision invalidates every firing planned from the old expression. xmax is 0
-- in a row that was inserted.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, (millrace.id_prefix(now()) || $1::text)::uuid AS id, to_timestamp($2::float8 / 1000) AS first
)
INSERT INTO millrace.crons AS c
  (created_at, next_run_at, priority, id, tenant, name, expr, timezone, task, queue, payload, config, job_config)
SELECT now, first, $3, id, $4, $5, $6, $7, $8, $9, $10::json, $11::json, $12::json FROM clock WHERE first > now
ON CONFLICT (tenant, name) WHERE name IS NOT NULL DO UPDATE
SET next_run_at = CASE WHEN c.expr = excluded.expr AND c.timezone = excluded.timezone THEN c.next_run_at
                       ELSE excluded.next_run_at END,
    priority = excluded.priority, expr = excluded.expr, timezone = excluded.timezone, task = excluded.task,
    queue = excluded.queue, payload = excluded.payload, config = excluded.config, job_config = excluded.job_config,
    revision = c.revision + 1
RETURNING c.id, c.xmax = 0 AS created, pg_notify('millrace', json_build_object('c', $2::float8)::text) AS told;

-- name: put_ended_cron
-- The same for an expression whose last occurrence has passed: no schedule can be created with it, but one that already
-- has it is replaced as usual.
UPDATE millrace.crons
SET priority = $1, task = $6, queue = $7, payload = $8::json, config = $9::json, job_config = $10::json,
    revision = revision + 1
WHERE tenant = $2 AND name = $3 AND expr = $4 AND timezone = $5
RETURNING id;

-- name: cron_of_tenant
SELECT c.tenant, c.id, c.name, c.expr, c.timezone, c.revision, c.task, c.queue, c.payload, c.config, c.enabled,
       c.next_run_at, c.last_enqueued_at, c.created_at, (extract(epoch FROM now()) * 1000)::float8 AS now_ms
FROM millrace.crons c WHERE c.tenant = $1 AND c.id = $2;

-- name: owner_of_cron
-- Finds a schedule's owner by the id alone, to tell 403 from 404.
SELECT found.tenant
FROM millrace.tenants t,
LATERAL (SELECT c.tenant FROM millrace.crons c WHERE c.tenant = t.tenant AND c.id = $1 OFFSET 0) AS found
WHERE t.bucket = $2;

-- name: pause_cron
-- If $3 is given, only that revision is paused.
UPDATE millrace.crons SET enabled = false
WHERE tenant = $1 AND id = $2 AND ($3::bigint IS NULL OR revision = $3)
RETURNING id;

-- name: resume_cron
-- $3 is the first occurrence after the time at which the schedule was read as paused, by the expression of revision $4.
-- Missed occurrences are not run.
UPDATE millrace.crons SET enabled = true, next_run_at = to_timestamp($3::float8 / 1000)
WHERE tenant = $1 AND id = $2 AND NOT enabled AND revision = $4 AND to_timestamp($3::float8 / 1000) > now()
RETURNING id, pg_notify('millrace', json_build_object('c', $3::float8)::text) AS told;

-- name: trigger_cron
-- Enqueues a schedule's job now, paused or not, without affecting when it fires: next_run_at stays the same, and that
-- occurrence still gets its own job. The firing is recorded as `triggered`.
WITH triggered AS (
  UPDATE millrace.crons c
  SET last_enqueued_at = now(), fired = c.fired + 1
  WHERE c.tenant = $1 AND c.id = $2
  RETURNING c.tenant, c.id, c.name, c.task, c.queue, c.priority, c.payload, c.job_config, c.fired AS number,
            ((SELECT millrace.id_prefix(now())) || $3::text)::uuid AS job_id
), stored AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config, metadata)
  SELECT now(), priority, job_id, tenant, queue, task, payload, job_config,
         json_build_object('cron_id', id, 'cron_name', name)
  FROM triggered
), queued AS (
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, size)
  SELECT now(), priority, 0, 0, job_id, tenant, queue, millrace.job_size(payload, NULL, NULL) FROM triggered
), recorded AS (
  INSERT INTO millrace.cron_firings (occurrence, fired_at, number, slot, kind, job_id, cron_id, tenant)
  SELECT now(), now(), number, number % $4::int, 'triggered', job_id, id, tenant FROM triggered
  ON CONFLICT (tenant, cron_id, slot) DO UPDATE
  SET occurrence = excluded.occurrence, fired_at = excluded.fired_at, number = excluded.number, kind = excluded.kind,
      job_id = excluded.job_id
)
SELECT job_id, queue, task, priority FROM triggered;

-- name: delete_cron
-- Jobs that the schedule has created stay.
DELETE FROM millrace.crons WHERE tenant = $1 AND id = $2 RETURNING id;

-- name: delete_firings
-- The firings are deleted with their schedule, in the same transaction but in a later statement: only a later statement
-- sees a firing that was committed while the deletion of the schedule waited for it.
DELETE FROM millrace.cron_firings WHERE tenant = $1 AND cron_id = $2;

-- name: cron_agenda
-- Everything a scheduler needs to know: which schedules are due within the next $1 milliseconds, earliest first and at
-- most $2 of them, and how long it is until the first one that is not due yet. Nothing is locked; the firing checks
-- again. The answer is one row, however many schedules there are, and costs two index probes if none is due soon.
SELECT
  (extract(epoch FROM now()) * 1000)::float8 AS now_ms,
  (SELECT extract(epoch FROM c.next_run_at - now()) * 1000 FROM millrace.crons c
   WHERE c.enabled AND c.next_run_at > now() ORDER BY c.next_run_at LIMIT 1)::float8 AS wait_ms,
  (SELECT json_agg(json_build_array(near.tenant, near.id, near.revision, near.expr, near.timezone,
                                    extract(epoch FROM near.next_run_at) * 1000))
   FROM (
     SELECT c.tenant, c.id, c.revision, c.expr, c.timezone, c.next_run_at FROM millrace.crons c
     WHERE c.enabled AND c.next_run_at <= now() + $1::float8 * interval '1 millisecond'
     ORDER BY c.next_run_at LIMIT $2
   ) AS near)::text AS near;

-- name: fire_crons
-- Fires any number of schedules, each by a compare-and-swap: it acts on a row only if the row is enabled, due and still
-- at the occurrence and the revision that the caller planned for (a new expression may have the same next occurrence,
-- but a different one after it), and only soon after that planning ($7: when it was done; $8: how long it is valid).
-- The condition is evaluated on the locked row: a second process finds another occurrence there, or finds the row
-- locked and skips it. No process waits. Advancing the schedule, taking the key of the occurrence, creating the job and
-- recording the firing are one statement: no crash can come between them, and all of them act on exactly the rows that
-- were advanced. A key that already exists means that the occurrence has its job (the schedule was set back, by hand or
-- by restoring a backup): then the schedule only advances.
WITH given AS MATERIALIZED (
  SELECT tenant, id, to_timestamp(occurrence_ms / 1000) AS occurrence, to_timestamp(following_ms / 1000) AS following,
         kind, suffix, revision
  FROM unnest($1::text[], $2::uuid[], $3::float8[], $4::float8[], $5::millrace.firing_kind[], $6::text[], $10::bigint[])
    AS given (tenant, id, occurrence_ms, following_ms, kind, suffix, revision)
), taken AS MATERIALIZED (
  SELECT c.place, given.tenant, given.id, given.occurrence, given.following, given.kind, given.suffix,
         'millrace:cron:' || given.id || ':'
           || to_char(given.occurrence AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS key
  FROM given, LATERAL (
    SELECT r.ctid AS place, r.enabled, r.next_run_at, r.revision FROM millrace.crons r
    WHERE r.tenant = given.tenant AND r.id = given.id OFFSET 0 FOR NO KEY UPDATE SKIP LOCKED
  ) AS c
  WHERE c.enabled AND c.next_run_at = given.occurrence AND c.revision = given.revision AND c.next_run_at <= now()
    AND now() <= to_timestamp($7::float8 / 1000) + $8::float8 * interval '1 millisecond'
), sorted AS MATERIALIZED (
  SELECT taken.*, known.key IS NULL AS fresh
  FROM taken LEFT JOIN LATERAL (
    SELECT k.key FROM millrace.idempotency_keys k WHERE k.tenant = taken.tenant AND k.key = taken.key OFFSET 0
  ) AS known ON true
), advanced AS (
  UPDATE millrace.crons c
  SET next_run_at = s.following, enabled = s.following IS NOT NULL,
      last_enqueued_at = CASE WHEN s.fresh THEN now() ELSE c.last_enqueued_at END,
      fired = c.fired + s.fresh::int
  FROM sorted s
  WHERE c.ctid = ANY (ARRAY(SELECT place FROM taken)) AND c.ctid = s.place
  RETURNING c.tenant, c.id, c.name, c.task, c.queue, c.priority, c.payload, c.job_config, c.fired AS number,
            s.occurrence, s.kind, s.key, s.fresh, ((SELECT millrace.id_prefix(now())) || s.suffix)::uuid AS job_id
), keyed AS (
  INSERT INTO millrace.idempotency_keys (tenant, key, job_id) SELECT tenant, key, job_id FROM advanced WHERE fresh
), stored AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config, metadata, idempotency_key)
  SELECT now(), priority, job_id, tenant, queue, task, payload, job_config,
         json_build_object('cron_id', id, 'cron_name', name, 'cron_due_at', right(key, 20)), key
  FROM advanced WHERE fresh
), queued AS (
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, size)
  SELECT now(), priority, 0, 0, job_id, tenant, queue, millrace.job_size(payload, NULL, NULL) FROM advanced WHERE fresh
), recorded AS (
  INSERT INTO millrace.cron_firings (occurrence, fired_at, number, slot, kind, job_id, cron_id, tenant)
  SELECT occurrence, now(), number, number % $9::int, kind, job_id, id, tenant FROM advanced WHERE fresh
  ON CONFLICT (tenant, cron_id, slot) DO UPDATE
  SET occurrence = excluded.occurrence, fired_at = excluded.fired_at, number = excluded.number, kind = excluded.kind,
      job_id = excluded.job_id
)
SELECT id, tenant, queue, task, priority, kind, fresh AS enqueued,
       extract(epoch FROM now() - occurrence)::float8 AS lag_secs
FROM advanced;
