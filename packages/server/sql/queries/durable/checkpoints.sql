-- Named values of jobs.

-- name: store_checkpoints
-- Stores values under names that have none yet, each under its job's lease; a job is named once. The lease's row is
-- locked, so that nothing is stored once the next attempt has read. Of each, the answer says whether the lease is held
-- (a row), whether it was stored, and whether the name is taken; neither of the two: there is no room. Storing one ends
-- the wait of that name. A name may also be taken by a statement that this one does not see: then it counts for nothing
-- and is neither, and whoever asked looks for it (checkpoint_of_job).
WITH given AS MATERIALIZED (
  SELECT * FROM unnest(:ids::uuid[], :tokens::uuid[], :names::text[], :values::json[]) WITH ORDINALITY
    AS given (id, token, name, value, n)
), held AS MATERIALIZED (
  SELECT given.n, given.id, given.name, given.value, octet_length(given.value::text) AS bytes, l.tenant,
         l.delivery_count
  FROM given, LATERAL (
    SELECT l.tenant, l.delivery_count FROM millrace.leases l WHERE l.id = given.id AND l.token = given.token
    OFFSET 0 FOR KEY SHARE
  ) AS l
), fresh AS MATERIALIZED (
  SELECT held.* FROM held LEFT JOIN LATERAL (
    SELECT c.name FROM millrace.checkpoints c WHERE c.job_id = held.id AND c.name = held.name OFFSET 0
  ) AS c ON true
  WHERE c.name IS NULL
), room AS (
  INSERT INTO millrace.checkpoint_totals AS t (bytes, count, job_id, tenant)
  SELECT bytes, 1, id, tenant FROM fresh WHERE bytes <= :max_bytes::bigint ORDER BY id
  ON CONFLICT (job_id) DO UPDATE SET bytes = t.bytes + excluded.bytes, count = t.count + 1
  WHERE t.count < :max_count::int AND t.bytes + excluded.bytes <= :max_bytes::bigint
  RETURNING t.job_id
), stored AS (
  INSERT INTO millrace.checkpoints (at, attempt, job_id, name, value)
  SELECT now(), delivery_count, id, name, value FROM fresh WHERE id = ANY (ARRAY(SELECT job_id FROM room))
  ON CONFLICT (job_id, name) DO NOTHING
  RETURNING job_id, name
), over AS (
  DELETE FROM millrace.waits w USING stored
  WHERE w.job_id = ANY (ARRAY(SELECT job_id FROM stored)) AND w.job_id = stored.job_id AND w.checkpoint = stored.name
)
SELECT held.n::int, stored.job_id IS NOT NULL AS stored, fresh.n IS NULL AS taken, room.job_id IS NOT NULL AS counted
FROM held
LEFT JOIN fresh ON fresh.n = held.n LEFT JOIN room ON room.job_id = held.id
LEFT JOIN stored ON stored.job_id = held.id;

-- name: uncount_checkpoint
-- Of one that was counted and then not stored, because another statement stored one under its name.
UPDATE millrace.checkpoint_totals SET bytes = bytes - octet_length(:value::text), count = count - 1 WHERE job_id = :id;

-- name: checkpoint_of_job
SELECT value::text AS value FROM millrace.checkpoints WHERE job_id = :id AND name = :name;

-- name: checkpoints_of_job
SELECT name, value::text AS value, at, attempt FROM millrace.checkpoints WHERE job_id = :id ORDER BY at, name;

-- name: tenant_of_lease
-- Whose job a worker holds, if it holds it.
SELECT l.tenant FROM millrace.leases l WHERE l.id = :id AND l.token = :token;

-- name: keep_checkpoints
-- The copy of a job (:to_ids) begins with checkpoints of the first one (:from_ids): all, or those under :names. Left
-- out is what would only fail again: waits that timed out, and children that failed or were cancelled. That a text
-- looks like the end of children is not enough: a job of that id must be a child of the first one. Attempt 0 says that
-- no attempt of the copy stored them.
WITH given AS MATERIALIZED (
  SELECT * FROM unnest(:from_ids::uuid[], :to_ids::uuid[]) AS given (from_id, to_id)
), kept AS MATERIALIZED (
  SELECT c.at, given.to_id, c.name, c.value
  FROM given, LATERAL (
    SELECT c.at, c.name, c.value FROM millrace.checkpoints c
    WHERE c.job_id = given.from_id AND (:names::text[] IS NULL OR c.name = ANY (:names))
    OFFSET 0
  ) AS c
  WHERE c.value::text !~ '^\s*\{\s*"timed_out"\s*:\s*true\s*\}\s*$' AND (
    left(c.value::text, 13) <> '{"children":[' OR NOT EXISTS (
      SELECT FROM regexp_matches(
        c.value::text, '"job_id":"([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})","status":"(failed|cancelled)"', 'g'
      ) AS ended (child), LATERAL (
        SELECT o.parent_id FROM millrace.children o WHERE o.child_id = ended.child[1]::uuid OFFSET 0
      ) AS o
      WHERE o.parent_id = given.from_id
    )
  )
), copied AS (
  INSERT INTO millrace.checkpoints (at, attempt, job_id, name, value) SELECT at, 0, to_id, name, value FROM kept
)
INSERT INTO millrace.checkpoint_totals (bytes, count, job_id, tenant)
SELECT sum(octet_length(value::text)), count(*), to_id, :tenant FROM kept GROUP BY to_id;
