-- name: cron_agenda
-- Everything a scheduler needs to know: which schedules are due within the next :lead_ms, earliest first and at most
-- :max_crons of them, and how long it is until the first one that is not due yet. Nothing is locked; the firing checks
-- again. The answer is one row, however many schedules there are, and costs two index probes if none is due soon.
SELECT
  (extract(epoch FROM now()) * 1000)::float8 AS now_ms,
  (SELECT extract(epoch FROM c.next_run_at - now()) * 1000 FROM millrace.crons c
   WHERE c.enabled AND c.next_run_at > now() ORDER BY c.next_run_at LIMIT 1)::float8 AS wait_ms,
  (SELECT json_agg(json_build_array(near.tenant, near.id, near.revision, near.expr, near.timezone,
                                    extract(epoch FROM near.next_run_at) * 1000, near.task IS NULL))
   FROM (
     SELECT c.tenant, c.id, c.revision, c.expr, c.timezone, c.next_run_at, c.task FROM millrace.crons c
     WHERE c.enabled AND c.next_run_at <= now() + :lead_ms::float8 * interval '1 millisecond'
     ORDER BY c.next_run_at LIMIT :max_crons
   ) AS near)::text AS near;

-- name: fire_crons
-- Fires any number of schedules, each by a compare-and-swap: it acts on a row only if the row is enabled, due and still
-- at the occurrence and the revision that the caller planned for (a new expression may have the same next occurrence,
-- but a different one after it), and only soon after that planning (done at :planned_at_ms, and valid for :valid_ms).
-- The condition is evaluated on the locked row: a second process finds another occurrence there, or finds the row
-- locked and skips it. No process waits. Advancing the schedule, taking the key of the occurrence, creating the job and
-- recording the firing are one statement: no crash can come between them, and all of them act on exactly the rows that
-- were advanced. A job with limits joins the line of its first one. A key that already exists means that the occurrence
-- has its job (the schedule was set back, by hand or by restoring a backup): then the schedule only advances. A skipped
-- occurrence is recorded without a job, and takes no key. A schedule that was triggered by hand between the statement's
-- snapshot and its lock is not found where `taken` saw it, and stays due: whether what was triggered has ended is not
-- visible here.
WITH given AS MATERIALIZED (
  SELECT tenant, id, to_timestamp(occurrence_ms / 1000) AS occurrence, to_timestamp(following_ms / 1000) AS following,
         kind, suffix, revision
  FROM unnest(:tenants::text[], :ids::uuid[], :occurrences_ms::float8[], :followings_ms::float8[],
              :kinds::millrace.firing_kind[], :suffixes::text[], :revisions::bigint[])
    AS given (tenant, id, occurrence_ms, following_ms, kind, suffix, revision)
), taken AS MATERIALIZED (
  SELECT c.place, given.tenant, given.id, given.occurrence, given.following, given.kind, given.suffix,
         CASE WHEN c.skips THEN c.last_job_id END AS after_job,
         CASE WHEN c.skips THEN c.last_workflow_id END AS after_workflow,
         'millrace:cron:' || given.id || ':'
           || to_char(given.occurrence AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS key
  FROM given, LATERAL (
    SELECT r.ctid AS place, r.enabled, r.next_run_at, r.revision, r.skips, r.last_job_id, r.last_workflow_id
    FROM millrace.crons r
    WHERE r.tenant = given.tenant AND r.id = given.id OFFSET 0 FOR NO KEY UPDATE SKIP LOCKED
  ) AS c
  WHERE c.enabled AND c.next_run_at = given.occurrence AND c.revision = given.revision AND c.next_run_at <= now()
    AND now() <= to_timestamp(:planned_at_ms::float8 / 1000) + :valid_ms::float8 * interval '1 millisecond'
), sorted AS MATERIALIZED (
-- include: fresh_or_skipped
), advanced AS (
  UPDATE millrace.crons c
  SET next_run_at = s.following, enabled = s.following IS NOT NULL,
      last_enqueued_at = CASE WHEN s.fresh AND NOT s.skipped THEN now() ELSE c.last_enqueued_at END,
      last_job_id = CASE WHEN s.fresh AND NOT s.skipped
        THEN ((SELECT millrace.id_prefix(now())) || millrace.marked_suffix(s.suffix, c.job_config))::uuid
        ELSE c.last_job_id END,
      last_workflow_id = CASE WHEN s.fresh AND NOT s.skipped THEN NULL ELSE c.last_workflow_id END,
      fired = c.fired + s.fresh::int
  FROM sorted s
  WHERE c.ctid = ANY (ARRAY(SELECT place FROM taken)) AND c.ctid = s.place
  RETURNING c.tenant, c.id, c.name, c.task, c.queue, c.priority, c.payload, c.job_config, c.fired AS number,
            s.occurrence, s.kind, s.key, s.fresh AND NOT s.skipped AS fresh, s.skipped, c.limits,
            c.last_job_id AS job_id,
            millrace.expiry(c.job_config, now()) AS expires_at
), keyed AS (
  INSERT INTO millrace.idempotency_keys (tenant, key, job_id) SELECT tenant, key, job_id FROM advanced WHERE fresh
), stored AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config, metadata, idempotency_key,
                             limits)
  SELECT now(), priority, job_id, tenant, queue, task, payload, job_config,
         json_build_object('cron_id', id, 'cron_name', name, 'cron_due_at', right(key, 20)), key, limits
  FROM advanced WHERE fresh
), queued AS (
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, later, size,
                              limits, waits_for, expires_at)
  SELECT now(), priority, 0, 0, job_id, tenant, queue, CASE WHEN limits IS NOT NULL THEN false END,
         millrace.job_size(payload, NULL, NULL), limits, limits[1], expires_at
  FROM advanced WHERE fresh
), noted AS (
  INSERT INTO millrace.limit_notes (given_back, limit_id, job_id, tenant)
  SELECT 0, each.id, job_id, tenant FROM advanced, unnest(advanced.limits) AS each (id) WHERE fresh
), recorded AS (
  INSERT INTO millrace.cron_firings (occurrence, fired_at, number, slot, kind, job_id, cron_id, tenant)
  SELECT occurrence, now(), number, number % :slots::int, CASE WHEN skipped THEN 'skipped' ELSE kind END,
         CASE WHEN NOT skipped THEN job_id END, id, tenant
  FROM advanced WHERE fresh OR skipped
  ON CONFLICT (tenant, cron_id, slot) DO UPDATE
  SET occurrence = excluded.occurrence, fired_at = excluded.fired_at, number = excluded.number, kind = excluded.kind,
      job_id = excluded.job_id, workflow_id = NULL
)
SELECT id, tenant, queue, task, priority, kind, fresh AS enqueued, limits[1] AS waits_for,
       extract(epoch FROM now() - occurrence)::float8 AS lag_secs
FROM advanced;

-- name: take_starts
-- First statement of a transaction that fires schedules with workflows: locks those that are due under the conditions
-- of fire_crons, and returns what to start. The workflows are created in between, and record_starts ends it: so a
-- workflow, its firing and the advanced schedule are committed together or not at all.
-- A schedule that skips, and was triggered by hand between this statement's snapshot and its lock (`seen` is what the
-- snapshot has), stays due as in fire_crons.
WITH given AS MATERIALIZED (
  SELECT tenant, id, to_timestamp(occurrence_ms / 1000) AS occurrence, revision
  FROM unnest(:tenants::text[], :ids::uuid[], :occurrences_ms::float8[], :revisions::bigint[])
    AS given (tenant, id, occurrence_ms, revision)
), taken AS MATERIALIZED (
  SELECT given.tenant, given.id, c.name, c.workflow,
         CASE WHEN c.skips THEN c.last_job_id END AS after_job,
         CASE WHEN c.skips THEN c.last_workflow_id END AS after_workflow,
         to_char(given.occurrence AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS due_at,
         'millrace:cron:' || given.id || ':'
           || to_char(given.occurrence AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS key,
         extract(epoch FROM now() - given.occurrence)::float8 AS lag_secs
  FROM given, LATERAL (
    SELECT r.enabled, r.next_run_at, r.revision, r.skips, r.last_job_id, r.last_workflow_id, r.name, r.workflow
    FROM millrace.crons r
    WHERE r.tenant = given.tenant AND r.id = given.id OFFSET 0 FOR NO KEY UPDATE SKIP LOCKED
  ) AS c LEFT JOIN LATERAL (
    SELECT r.last_job_id, r.last_workflow_id FROM millrace.crons r
    WHERE c.skips AND r.tenant = given.tenant AND r.id = given.id OFFSET 0
  ) AS seen ON true
  WHERE c.enabled AND c.next_run_at = given.occurrence AND c.revision = given.revision AND c.next_run_at <= now()
    AND now() <= to_timestamp(:planned_at_ms::float8 / 1000) + :valid_ms::float8 * interval '1 millisecond'
    AND (c.skips IS NOT TRUE OR (c.last_job_id IS NOT DISTINCT FROM seen.last_job_id
                                 AND c.last_workflow_id IS NOT DISTINCT FROM seen.last_workflow_id))
), sorted AS (
-- include: fresh_or_skipped
)
SELECT id, name, due_at, key, lag_secs, fresh, skipped, CASE WHEN fresh AND NOT skipped THEN workflow END AS workflow
FROM sorted;

-- name: record_starts
-- Advances the schedules that take_starts has locked, and records their firings: with the workflow that was started,
-- without one if the occurrence was skipped, and not at all (:kinds null) if it had fired before. The key of the
-- occurrence lives for :life_secs, since no job carries it.
WITH given AS MATERIALIZED (
  SELECT given.tenant, given.id, to_timestamp(occurrence_ms / 1000) AS occurrence,
         to_timestamp(following_ms / 1000) AS following, given.kind, given.workflow_id, given.key, c.place
  FROM unnest(:tenants::text[], :ids::uuid[], :occurrences_ms::float8[], :followings_ms::float8[],
              :kinds::millrace.firing_kind[], :workflow_ids::uuid[], :keys::text[])
    AS given (tenant, id, occurrence_ms, following_ms, kind, workflow_id, key),
  LATERAL (
    SELECT r.ctid AS place FROM millrace.crons r WHERE r.tenant = given.tenant AND r.id = given.id OFFSET 0
  ) AS c
), advanced AS (
  UPDATE millrace.crons c
  SET next_run_at = g.following, enabled = g.following IS NOT NULL,
      last_enqueued_at = CASE WHEN g.workflow_id IS NULL THEN c.last_enqueued_at ELSE now() END,
      last_job_id = CASE WHEN g.workflow_id IS NULL THEN c.last_job_id END,
      last_workflow_id = coalesce(g.workflow_id, c.last_workflow_id),
      fired = c.fired + (g.kind IS NOT NULL)::int
  FROM given g
  WHERE c.ctid = ANY (ARRAY(SELECT place FROM given)) AND c.ctid = g.place
  RETURNING c.tenant, c.id, c.fired AS number, g.occurrence, g.kind, g.workflow_id, g.key
), keyed AS (
  INSERT INTO millrace.idempotency_keys (tenant, key, job_id, kind, ids, expires_at)
  SELECT tenant, key, '00000000-0000-0000-0000-000000000000', 'workflow', ARRAY[workflow_id],
         now() + :life_secs::float8 * interval '1 second'
  FROM advanced WHERE workflow_id IS NOT NULL
)
INSERT INTO millrace.cron_firings (occurrence, fired_at, number, slot, kind, workflow_id, cron_id, tenant)
SELECT occurrence, now(), number, number % :slots::int, kind, workflow_id, id, tenant
FROM advanced WHERE kind IS NOT NULL
ON CONFLICT (tenant, cron_id, slot) DO UPDATE
SET occurrence = excluded.occurrence, fired_at = excluded.fired_at, number = excluded.number, kind = excluded.kind,
    job_id = NULL, workflow_id = excluded.workflow_id;

-- name: hold_start
-- The workflow of a schedule that is triggered by hand, locked until the firing is recorded.
SELECT c.name, c.workflow FROM millrace.crons c
WHERE c.tenant = :tenant AND c.id = :id AND c.task IS NULL
FOR NO KEY UPDATE;

-- name: record_triggered_start
-- Like trigger_cron, for a workflow that this transaction has started.
WITH triggered AS (
  UPDATE millrace.crons c
  SET last_enqueued_at = now(), fired = c.fired + 1, last_job_id = NULL, last_workflow_id = :workflow_id
  WHERE c.tenant = :tenant AND c.id = :id
  RETURNING c.tenant, c.id, c.fired AS number
)
INSERT INTO millrace.cron_firings (occurrence, fired_at, number, slot, kind, workflow_id, cron_id, tenant)
SELECT now(), now(), number, number % :slots::int, 'triggered', :workflow_id, id, tenant FROM triggered
ON CONFLICT (tenant, cron_id, slot) DO UPDATE
SET occurrence = excluded.occurrence, fired_at = excluded.fired_at, number = excluded.number, kind = excluded.kind,
    job_id = NULL, workflow_id = excluded.workflow_id;

-- fragment: fresh_or_skipped
-- Whether the occurrence has fired before (not `fresh`), and whether what the last firing brought about has not ended,
-- of a schedule that then skips. A job that retention has removed has ended; so has a workflow that is no run any more.
  SELECT taken.*, known.key IS NULL AS fresh,
         known.key IS NULL AND (before.unfinished IS NOT NULL OR begun.unfinished IS NOT NULL) AS skipped
  FROM taken LEFT JOIN LATERAL (
    SELECT k.key FROM millrace.idempotency_keys k WHERE k.tenant = taken.tenant AND k.key = taken.key OFFSET 0
  ) AS known ON true
  LEFT JOIN LATERAL (
    SELECT true AS unfinished FROM millrace.jobs j
    WHERE j.tenant = taken.tenant AND j.id = taken.after_job AND NOT EXISTS (
      SELECT FROM millrace.done d
      WHERE d.tenant = j.tenant AND d.status IN ('completed', 'failed', 'cancelled') AND d.id = j.id
    )
    OFFSET 0
  ) AS before ON taken.after_job IS NOT NULL
  LEFT JOIN LATERAL (
    SELECT true AS unfinished FROM millrace.workflow_runs r
    WHERE r.tenant = taken.tenant AND r.id = taken.after_workflow OFFSET 0
  ) AS begun ON taken.after_workflow IS NOT NULL
