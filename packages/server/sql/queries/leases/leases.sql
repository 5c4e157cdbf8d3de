-- name: extend
-- A heartbeat, for any number of leases: the new deadline counts from now and may be earlier than the old one.
UPDATE millrace.leases l
SET locked_until = now() + beat.secs * interval '1 second'
FROM unnest(:ids::uuid[], :tokens::uuid[], :secs::int[]) AS beat (id, token, secs)
WHERE l.id = ANY (:ids::uuid[]) AND l.id = beat.id AND l.token = beat.token
RETURNING l.id, l.token, l.tenant, l.worker, l.queue;

-- name: extend_with_progress
-- The same where some of them report how far they are. A lease is named once at most. `watched`: an event stream
-- follows a job of which there is news.
WITH beat AS MATERIALIZED (
  SELECT *
  FROM unnest(:ids::uuid[], :tokens::uuid[], :secs::int[], :progress::json[]) AS beat (id, token, secs, progress)
), extended AS (
  UPDATE millrace.leases l
  SET locked_until = now() + beat.secs * interval '1 second'
  FROM beat
  WHERE l.id = ANY (:ids::uuid[]) AND l.id = beat.id AND l.token = beat.token
  RETURNING l.id, l.token, l.tenant, l.worker, l.queue, beat.progress
), reported AS (
  INSERT INTO millrace.progress AS p (at, job_id, token, tenant, progress)
  SELECT now(), id, token, tenant, progress FROM extended WHERE progress IS NOT NULL ORDER BY id
  ON CONFLICT (job_id) DO UPDATE
  SET at = greatest(excluded.at, p.at + interval '1 microsecond'), token = excluded.token,
      progress = excluded.progress
  RETURNING p.job_id
)
SELECT id, token, tenant, worker, queue,
       (SELECT EXISTS (
          SELECT FROM reported r, LATERAL (SELECT FROM millrace.watches w WHERE w.job_id = r.job_id OFFSET 0) AS w
        )) AS watched
FROM extended;

-- name: standing
-- Which of these leases still exist. This is how a process learns of a cancellation without writing anything.
SELECT l.id, l.token
FROM unnest(:ids::uuid[], :tokens::uuid[]) AS mine (id, token),
LATERAL (SELECT l.id, l.token FROM millrace.leases l WHERE l.id = mine.id AND l.token = mine.token OFFSET 0) AS l;

-- name: lease_facts
-- What the failure policy needs to know. It cannot change while the lease exists under this token, so the settlement
-- that follows, fenced by the same token, may rely on it without a transaction around both.
SELECT l.id, l.retry_count, j.config
FROM unnest(:ids::uuid[], :tokens::uuid[]) AS mine (id, token),
LATERAL (SELECT * FROM millrace.leases l WHERE l.id = mine.id AND l.token = mine.token OFFSET 0) AS l,
LATERAL (SELECT j.config FROM millrace.jobs j WHERE j.tenant = l.tenant AND j.id = l.id OFFSET 0) AS j;
