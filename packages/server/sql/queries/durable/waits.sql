-- Jobs that wait without a worker, and signals that end their waits.

-- name: lock_signal
-- Whoever waits for a signal and whoever sends it take turns, so that neither misses the other. Held until the end of
-- the transaction.
SELECT pg_advisory_xact_lock(hashtextextended(:signal, 7034902));

-- name: suspend
-- Puts a running job back to its queue, to be due at an instant (:until, or :delay_secs from now) or when a signal
-- comes or :children have ended. The first instant stored under a checkpoint stands. Due at once if the checkpoint is
-- there already, or if a signal is stored that it waits for: that one is taken, and becomes the checkpoint; or if
-- there is an :answer: children that have ended already. Without a row in the answer, the lease is not held. With
-- :signal, the caller holds its lock; with :children, that of the parent (lock_parent). A job with limits gives back
-- its room, by a note to each, and sleeps or joins a line as after any attempt (settle_limited). `looks`: limits to
-- look at.
WITH held AS (
  DELETE FROM millrace.leases l WHERE l.id = :id AND l.token = :token
  RETURNING l.id, l.tenant, l.workflow_id, l.started_at, l.retry_count, l.delivery_count, l.worker, l.error
), known AS MATERIALIZED (
  SELECT w.until FROM millrace.waits w WHERE w.job_id = :id AND w.checkpoint = :checkpoint
), ended AS MATERIALIZED (
  SELECT c.name FROM millrace.checkpoints c WHERE c.job_id = :id AND c.name = :checkpoint
), taken AS (
  DELETE FROM millrace.signals s
  WHERE s.ctid = ANY (ARRAY(
    SELECT s.ctid FROM held, LATERAL (
      SELECT s.ctid FROM millrace.signals s
      WHERE s.tenant = held.tenant AND s.name = :signal AND s.key = :key AND s.expires_at > now()
      ORDER BY s.seq LIMIT 1
    ) AS s
    WHERE NOT EXISTS (SELECT FROM ended)
  ))
  RETURNING ('{"value":' || s.value::text || '}')::json AS value
), answer AS MATERIALIZED (
  SELECT value FROM taken
  UNION ALL
  SELECT given.value FROM (SELECT :answer::json AS value) AS given
  WHERE given.value IS NOT NULL AND NOT EXISTS (SELECT FROM ended)
), counted AS (
  INSERT INTO millrace.checkpoint_totals AS t (bytes, count, job_id, tenant)
  SELECT octet_length(answer.value::text), 1, held.id, held.tenant FROM held, answer
  ON CONFLICT (job_id) DO UPDATE SET bytes = t.bytes + excluded.bytes, count = t.count + 1
), answered AS (
  INSERT INTO millrace.checkpoints (at, attempt, job_id, name, value)
  SELECT now(), held.delivery_count, held.id, :checkpoint, answer.value FROM held, answer
), due AS MATERIALIZED (
  SELECT coalesce((SELECT until FROM known), :until::timestamptz, now() + :delay_secs::float8 * interval '1 second')
           AS until,
         EXISTS (SELECT FROM ended) OR EXISTS (SELECT FROM answer) AS over
), closed AS (
  UPDATE millrace.waits w SET open = false
  WHERE w.job_id = :id AND w.open AND w.checkpoint <> :checkpoint AND EXISTS (SELECT FROM held)
), waiting AS (
  INSERT INTO millrace.waits (since, until, job_id, open, tenant, checkpoint, signal, key, ask, children)
  SELECT now(), due.until, held.id, true, held.tenant, :checkpoint, :signal, :key, :ask::json, :children::text[]
  FROM held, due WHERE NOT due.over
  ON CONFLICT (job_id, checkpoint) DO UPDATE
  SET open = true, signal = excluded.signal, key = excluded.key, ask = excluded.ask, children = excluded.children
), over AS (
  DELETE FROM millrace.waits w
  WHERE w.job_id = :id AND w.checkpoint = :checkpoint AND EXISTS (SELECT FROM held) AND (SELECT over FROM due)
), again AS (
  INSERT INTO millrace.ready (scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue,
                              workflow_id, error, later, size, limits, waits_for)
  SELECT at, held.started_at, j.priority, held.retry_count, held.delivery_count, held.id, held.tenant, j.queue,
         held.workflow_id, held.error, CASE WHEN j.limits IS NOT NULL THEN false WHEN at > now() THEN true END,
         millrace.job_size(j.payload, j.metadata, held.error, j.context_bytes), j.limits,
         CASE WHEN at <= now() THEN j.limits[1] END
  FROM held, due, LATERAL (SELECT CASE WHEN due.over THEN now() ELSE due.until END AS at) AS at,
  LATERAL (SELECT * FROM millrace.jobs j WHERE j.tenant = held.tenant AND j.id = held.id OFFSET 0) AS j
  RETURNING id, tenant, queue, priority, scheduled_at, limits, waits_for
), noted AS (
  INSERT INTO millrace.limit_notes (given_back, limit_id, job_id, tenant)
  SELECT 1, each.id, NULL::uuid, NULL::text FROM again, unnest(again.limits) AS each (id)
  UNION ALL
  SELECT 0, again.waits_for, again.id, again.tenant FROM again WHERE again.waits_for IS NOT NULL
  RETURNING limit_id
), tried AS (
  INSERT INTO millrace.attempts AS a
    (started_at, ended_at, next_retry_at, number, slot, outcome, job_id, tenant, worker)
  SELECT held.started_at, now(), again.scheduled_at, held.delivery_count, 21 + (held.delivery_count - 1) % 20,
         'suspended', held.id, held.tenant, held.worker
  FROM held, again
  ON CONFLICT (tenant, job_id, slot) DO UPDATE
  SET started_at = excluded.started_at, ended_at = excluded.ended_at, next_retry_at = excluded.next_retry_at,
      number = excluded.number, outcome = excluded.outcome, worker = excluded.worker, error = NULL, details = NULL
), seen AS (
  INSERT INTO millrace.transitions (at, scheduled_at, started_at, retry_count, delivery_count, status, job_id, error)
  SELECT now(), again.scheduled_at, held.started_at, held.retry_count, held.delivery_count,
         CASE WHEN held.retry_count > 0 THEN 'retrying' ELSE 'pending' END::millrace.job_status, held.id, held.error
  FROM held, again WHERE EXISTS (SELECT FROM millrace.watches w WHERE w.job_id = :id)
  RETURNING 1
)
SELECT held.tenant, held.worker, again.queue, again.priority, again.scheduled_at,
       (SELECT count(*) FROM seen)::int AS watched, (SELECT json_agg(DISTINCT limit_id) FROM noted)::text AS looks
FROM held, again;

-- name: first_wait
-- The oldest wait for a signal. The caller holds its lock.
SELECT w.job_id, w.checkpoint FROM millrace.waits w
WHERE w.tenant = :tenant AND w.signal = :signal AND w.key = :key AND w.open AND w.signal IS NOT NULL
ORDER BY w.since, w.job_id LIMIT 1;

-- name: wake
-- Ends a wait: :answer becomes the checkpoint, and the job is due. `acted` is false if the job has moved since it was
-- looked at, or has ended; `stored` is false if the wait is over already, because its deadline was. A job that runs, or
-- is due, stays where it is, and finds the checkpoint when it looks. One with limits joins the line of its first.
WITH gone AS (
  DELETE FROM millrace.ready r WHERE r.tenant = :tenant AND r.id = :id AND r.scheduled_at > now()
-- include: join_line
), due AS MATERIALIZED (
  SELECT r.id, r.delivery_count FROM millrace.ready r
  WHERE r.tenant = :tenant AND r.id = :id AND r.scheduled_at <= now() FOR KEY SHARE
), running AS MATERIALIZED (
  SELECT l.id, l.delivery_count FROM millrace.leases l WHERE l.id = :id FOR KEY SHARE
), job AS MATERIALIZED (
  SELECT id, delivery_count FROM gone
  UNION ALL SELECT id, delivery_count FROM due
  UNION ALL SELECT id, delivery_count FROM running
), stored AS (
  INSERT INTO millrace.checkpoints (at, attempt, job_id, name, value)
  SELECT now(), job.delivery_count, job.id, :checkpoint, :answer::json FROM job
  ON CONFLICT (job_id, name) DO NOTHING
  RETURNING octet_length(value::text) AS bytes
), counted AS (
  INSERT INTO millrace.checkpoint_totals AS t (bytes, count, job_id, tenant)
  SELECT stored.bytes, 1, :id::uuid, :tenant FROM stored
  ON CONFLICT (job_id) DO UPDATE SET bytes = t.bytes + excluded.bytes, count = t.count + 1
), over AS (
  DELETE FROM millrace.waits w
  WHERE w.job_id = :id AND w.checkpoint = :checkpoint AND EXISTS (SELECT FROM job)
-- include: tell_watchers
)
SELECT EXISTS (SELECT FROM job) AS acted, EXISTS (SELECT FROM stored) AS stored, moved.queue, moved.priority,
       moved.scheduled_at, moved.waits_for, (SELECT count(*) FROM seen)::int AS watched
FROM (SELECT) AS one LEFT JOIN moved ON true;

-- name: drop_wait
-- Of a job that has ended.
DELETE FROM millrace.waits WHERE job_id = :id;

-- name: store_signal
-- Keeps a signal for the next wait, unless :max_stored are kept for it already. The caller holds its lock.
INSERT INTO millrace.signals (expires_at, job_id, workflow_id, tenant, name, key, value)
SELECT coalesce(now() + :ttl_secs::float8 * interval '1 second', 'infinity'), :job_id::uuid, :workflow_id::uuid,
       :tenant, :signal, :key, :value::json
WHERE (
  SELECT count(*) FROM (
    SELECT FROM millrace.signals s
    WHERE s.tenant = :tenant AND s.name = :signal AND s.key = :key AND s.expires_at > now() LIMIT :max_stored::int
  ) AS stored
) < :max_stored::int
RETURNING 1 AS stored;

-- name: count_signals
-- Of a tenant, counted up to :max_stored.
SELECT count(*)::int AS n FROM (
  SELECT FROM millrace.signals s WHERE s.tenant = :tenant LIMIT :max_stored::int
) AS stored;

-- name: wait_of_job
-- What a suspended job waits for. One whose time is over is due, whether or not anybody has begun it.
SELECT w.checkpoint, w.since, w.until, w.signal, w.key, w.ask::text AS ask, cardinality(w.children) AS total,
       (SELECT p.pending FROM millrace.parents p WHERE w.children IS NOT NULL AND p.parent_id = w.job_id) AS unfinished
FROM millrace.waits w WHERE w.job_id = :id AND w.open AND w.until > now() LIMIT 1;

-- name: deadlines_of_job
SELECT w.checkpoint AS name, w.until FROM millrace.waits w WHERE w.job_id = :id ORDER BY w.since, w.checkpoint;

-- name: end_sleep
-- Somebody wants the job to go on: its sleep is over now.
UPDATE millrace.waits SET until = now()
WHERE job_id = :id AND open AND signal IS NULL AND children IS NULL AND until > now();

-- name: waits_of_tenant
-- Jobs that wait for signals, the newest first, after :after_since and :after_id. Waits of jobs that have ended may be
-- among them for a while.
SELECT w.job_id, j.task, w.signal, w.key, w.ask::text AS ask, w.since, w.until, j.workflow_id, j.step
FROM (
  SELECT * FROM millrace.waits w
  WHERE w.tenant = :tenant AND w.open AND w.signal IS NOT NULL
    AND (:after_since::timestamptz IS NULL OR (w.since, w.job_id) < (:after_since::timestamptz, :after_id::uuid))
    AND (:signal::text IS NULL OR w.signal = :signal) AND (:key::text IS NULL OR w.key = :key)
    AND (NOT :asks::bool OR w.ask IS NOT NULL)
  ORDER BY w.since DESC, w.job_id DESC LIMIT :max_waits
) AS w,
LATERAL (
  SELECT j.task, j.workflow_id, j.step FROM millrace.jobs j WHERE j.tenant = w.tenant AND j.id = w.job_id OFFSET 0
) AS j
ORDER BY w.since DESC, w.job_id DESC;

-- name: forget_waits
-- Waits of jobs that have ended or are gone, among :max_rows after :after_id. Returns where to go on, or nothing.
WITH walked AS MATERIALIZED (
  SELECT w.job_id, w.tenant FROM millrace.waits w WHERE w.job_id > :after_id ORDER BY w.job_id LIMIT :max_rows
), ended AS MATERIALIZED (
  SELECT walked.job_id FROM walked
  LEFT JOIN LATERAL (
    SELECT r.id FROM millrace.ready r WHERE r.tenant = walked.tenant AND r.id = walked.job_id OFFSET 0
  ) AS r ON true
  LEFT JOIN LATERAL (SELECT l.id FROM millrace.leases l WHERE l.id = walked.job_id OFFSET 0) AS l ON true
  WHERE r.id IS NULL AND l.id IS NULL
), gone AS (
  DELETE FROM millrace.waits WHERE job_id = ANY (ARRAY(SELECT job_id FROM ended))
)
SELECT job_id AS next FROM walked WHERE (SELECT count(*) FROM walked) = :max_rows ORDER BY job_id DESC LIMIT 1;

-- name: forget_signals
-- Signals whose time is over, :max_rows at a time.
WITH gone AS (
  DELETE FROM millrace.signals WHERE ctid = ANY (ARRAY(
    SELECT s.ctid FROM millrace.signals s WHERE s.expires_at < now() ORDER BY s.expires_at LIMIT :max_rows
    FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS removed FROM gone;

-- name: forget_job_signals
-- Signals to jobs that have ended or are gone, among :max_rows after those to :after_id. Returns how many went, and
-- where to go on, if there are more.
WITH looked AS MATERIALIZED (
  SELECT s.job_id, s.tenant FROM millrace.signals s WHERE s.job_id > :after_id ORDER BY s.job_id LIMIT :max_rows
), walked AS MATERIALIZED (
  SELECT DISTINCT job_id, tenant FROM looked
), ended AS MATERIALIZED (
  SELECT walked.job_id FROM walked LEFT JOIN LATERAL (
    SELECT j.id FROM millrace.jobs j WHERE j.tenant = walked.tenant AND j.id = walked.job_id OFFSET 0
  ) AS j ON true
  WHERE j.id IS NULL
     OR EXISTS (
       SELECT FROM unnest(ARRAY['completed', 'failed', 'cancelled']::millrace.job_status[]) AS ending (status),
       LATERAL (
         SELECT FROM millrace.done d
         WHERE d.tenant = walked.tenant AND d.status = ending.status AND d.id = walked.job_id OFFSET 0
       ) AS d
     )
), gone AS (
  DELETE FROM millrace.signals WHERE job_id = ANY (ARRAY(SELECT job_id FROM ended))
  RETURNING 1
)
SELECT (SELECT count(*) FROM gone)::int AS removed,
       (SELECT job_id FROM looked WHERE (SELECT count(*) FROM looked) = :max_rows ORDER BY job_id DESC LIMIT 1) AS next;

-- name: suspended_jobs
-- For the metrics: how many jobs sleep, wait for signals and wait for children, as far as :max_waits rows show; and
-- how many signals nobody has taken yet, counted up to :max_signals. Whatever there is, the cost is bounded.
SELECT w.asleep, w.for_signals, w.for_children, (
         SELECT count(*)::int FROM (SELECT FROM millrace.signals LIMIT :max_signals::int) AS s
       ) AS signals
FROM (
  SELECT count(*) FILTER (WHERE w.open AND w.signal IS NULL AND w.children IS NULL)::int AS asleep,
         count(*) FILTER (WHERE w.open AND w.signal IS NOT NULL)::int AS for_signals,
         count(*) FILTER (WHERE w.open AND w.children IS NOT NULL)::int AS for_children
  FROM (SELECT w.open, w.signal, w.children FROM millrace.waits w LIMIT :max_waits::int) AS w
) AS w;

-- name: forget_workflow_signals
-- Signals to workflows that have ended or are gone, as forget_job_signals. A workflow that is resumed finds none of
-- those that it did not take before.
WITH looked AS MATERIALIZED (
  SELECT s.workflow_id, s.tenant FROM millrace.signals s
  WHERE s.workflow_id > :after_id ORDER BY s.workflow_id LIMIT :max_rows
), ended AS MATERIALIZED (
  SELECT walked.workflow_id FROM (SELECT DISTINCT workflow_id, tenant FROM looked) AS walked
  LEFT JOIN LATERAL (
    SELECT r.id FROM millrace.workflow_runs r WHERE r.tenant = walked.tenant AND r.id = walked.workflow_id OFFSET 0
  ) AS r ON true
  WHERE r.id IS NULL
), gone AS (
  DELETE FROM millrace.signals WHERE workflow_id = ANY (ARRAY(SELECT workflow_id FROM ended))
  RETURNING 1
)
SELECT (SELECT count(*) FROM gone)::int AS removed,
       (SELECT workflow_id FROM looked WHERE (SELECT count(*) FROM looked) = :max_rows
        ORDER BY workflow_id DESC LIMIT 1) AS next;

-- name: answers_of
-- What jobs of waiting steps have for an answer: a step waits once, so its job has one checkpoint at most. None: it is
-- due because of its deadline.
SELECT c.job_id, c.value
FROM unnest(:ids::uuid[]) AS asked (id),
LATERAL (SELECT c.job_id, c.value FROM millrace.checkpoints c WHERE c.job_id = asked.id OFFSET 0) AS c;
