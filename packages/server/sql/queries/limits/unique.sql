-- Unique jobs, in the transaction that creates jobs. Keys are taken and locked in order of id, after idempotency keys
-- and before limits, so that nobody waits in a circle.

-- name: take_unique
-- Takes keys that nobody has, each for the first job that names it. Returns those. A key that somebody else is taking
-- is waited for.
INSERT INTO millrace.unique_keys (id, job_id, tenant)
SELECT id, (millrace.id_prefix(now()) || suffix)::uuid, tenant
FROM unnest(:ids::uuid[], :suffixes::text[], :tenants::text[]) AS given (id, suffix, tenant)
ORDER BY id
ON CONFLICT (id) DO NOTHING
RETURNING id;

-- name: lock_unique
-- Those of these keys that exist, and whose they are.
SELECT u.id, u.job_id FROM millrace.unique_keys u WHERE u.id = ANY (:ids::uuid[]) ORDER BY u.id FOR UPDATE;

-- name: states_of_unique
-- What jobs are doing: never delivered yet, or at least not ended. In a statement after the lock, since the snapshot of
-- the one that waited for it may be older than the job.
SELECT asked.n::int, r.delivery_count IS NOT NULL AND r.delivery_count = 0 AS waiting,
       j.found IS NOT NULL AND d.found IS NULL AS unfinished
FROM unnest(:tenants::text[], :job_ids::uuid[]) WITH ORDINALITY AS asked (tenant, id, n)
LEFT JOIN LATERAL (
  SELECT r.delivery_count FROM millrace.ready r WHERE r.tenant = asked.tenant AND r.id = asked.id OFFSET 0
) AS r ON true
LEFT JOIN LATERAL (
  SELECT true AS found FROM millrace.jobs j WHERE j.tenant = asked.tenant AND j.id = asked.id OFFSET 0
) AS j ON true
LEFT JOIN LATERAL (
  SELECT true AS found FROM millrace.done d
  WHERE d.tenant = asked.tenant AND d.status IN ('completed', 'failed', 'cancelled') AND d.id = asked.id OFFSET 0
) AS d ON true;

-- name: take_waiting
-- Takes jobs out of their queues, or lines, to write them anew: no claim that began before delivers what they were. One
-- that was admitted by limits gives back its room; whoever looks at these (`looks`) next hears of it.
WITH gone AS (
  DELETE FROM millrace.ready r
  WHERE r.ctid = ANY (ARRAY(
      SELECT w.place FROM unnest(:tenants::text[], :job_ids::uuid[]) AS given (tenant, id),
      LATERAL (
        SELECT r.ctid AS place FROM millrace.ready r WHERE r.tenant = given.tenant AND r.id = given.id OFFSET 0
      ) AS w
    )) AND r.delivery_count = 0
  RETURNING r.id, r.later, r.waits_for, r.limits
), noted AS (
  INSERT INTO millrace.limit_notes (given_back, limit_id)
  SELECT count(*), each.id FROM gone, unnest(gone.limits) AS each (id)
  WHERE millrace.holds_room(gone.later, gone.waits_for, gone.limits) GROUP BY each.id
  RETURNING limit_id
)
SELECT (SELECT json_agg(id) FROM gone)::text AS ids, (SELECT json_agg(limit_id) FROM noted)::text AS looks;

-- name: keep_unique
-- Keys that are now those of other jobs.
UPDATE millrace.unique_keys u SET job_id = (millrace.id_prefix(now()) || given.suffix)::uuid
FROM unnest(:ids::uuid[], :suffixes::text[]) AS given (id, suffix)
WHERE u.id = ANY (:ids::uuid[]) AND u.id = given.id;

-- name: remember_existing
-- Idempotency keys whose requests created nothing, because of a job that was there: they lead to that one, for a week.
UPDATE millrace.idempotency_keys k SET job_id = given.job_id, expires_at = now() + interval '7 days'
FROM unnest(:tenants::text[], :keys::text[], :job_ids::uuid[]) AS given (tenant, key, job_id)
WHERE k.tenant = ANY (:tenants::text[]) AND k.key = ANY (:keys::text[])
  AND k.tenant = given.tenant AND k.key = given.key;

-- name: drop_ended_unique
-- Keys whose jobs have ended, :max_keys of those after :after. One that somebody holds is left alone.
WITH walked AS MATERIALIZED (
  SELECT u.id, u.job_id, u.tenant FROM millrace.unique_keys u
  WHERE u.id > :after::uuid ORDER BY u.id LIMIT :max_keys::int
), over AS MATERIALIZED (
  SELECT w.id, w.job_id FROM walked w
  LEFT JOIN LATERAL (
    SELECT true AS found FROM millrace.jobs j WHERE j.tenant = w.tenant AND j.id = w.job_id OFFSET 0
  ) AS j ON true
  LEFT JOIN LATERAL (
    SELECT true AS found FROM millrace.done d
    WHERE d.tenant = w.tenant AND d.status IN ('completed', 'failed', 'cancelled') AND d.id = w.job_id OFFSET 0
  ) AS d ON true
  WHERE j.found IS NULL OR d.found IS NOT NULL
), gone AS (
  DELETE FROM millrace.unique_keys u WHERE u.id = ANY (ARRAY(
    SELECT held.id FROM over, LATERAL (
      SELECT u.id FROM millrace.unique_keys u WHERE u.id = over.id AND u.job_id = over.job_id FOR UPDATE SKIP LOCKED
    ) AS held
  ))
)
SELECT max(id::text) AS last, count(*)::int AS walked FROM walked;
