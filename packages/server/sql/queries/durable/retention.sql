-- What is left of jobs that retention has removed (docs/adr/0017-retention.md), :max_rows of them at a time, from
-- :after_id on. A job that is older than the window may still be there: it has not ended, or it belongs to a workflow.

-- name: expire_checkpoints
-- Their checkpoints.
WITH walked AS MATERIALIZED (
  SELECT t.job_id AS id, t.tenant FROM millrace.checkpoint_totals t
  WHERE t.job_id > :after_id AND t.job_id < millrace.first_id(now() - :hours::float8 * interval '1 hour')
  ORDER BY t.job_id LIMIT :max_rows
-- include: gone
), removed AS (
  DELETE FROM millrace.checkpoints WHERE job_id = ANY (ARRAY(SELECT id FROM gone))
), forgotten AS (
  DELETE FROM millrace.checkpoint_totals WHERE job_id = ANY (ARRAY(SELECT id FROM gone)) RETURNING 1
)
-- include: outcome

-- name: expire_children
-- What they knew of their children.
WITH walked AS MATERIALIZED (
  SELECT p.parent_id AS id, p.tenant FROM millrace.parents p
  WHERE p.parent_id > :after_id AND p.parent_id < millrace.first_id(now() - :hours::float8 * interval '1 hour')
  ORDER BY p.parent_id LIMIT :max_rows
-- include: gone
), removed AS (
  DELETE FROM millrace.children WHERE parent_id = ANY (ARRAY(SELECT id FROM gone))
), forgotten AS (
  DELETE FROM millrace.parents WHERE parent_id = ANY (ARRAY(SELECT id FROM gone)) RETURNING 1
)
-- include: outcome

-- fragment: gone
), gone AS MATERIALIZED (
  SELECT walked.id FROM walked LEFT JOIN LATERAL (
    SELECT j.id FROM millrace.jobs j WHERE j.tenant = walked.tenant AND j.id = walked.id OFFSET 0
  ) AS j ON true
  WHERE j.id IS NULL

-- fragment: outcome
SELECT (SELECT count(*) FROM forgotten)::int AS removed, NULL::float8 AS overdue_secs,
       next.tenant, next.ending, next.id
FROM (SELECT) AS one LEFT JOIN (
  SELECT tenant, 'completed' AS ending, id FROM walked
  WHERE (SELECT count(*) FROM walked) = :max_rows ORDER BY id DESC LIMIT 1
) AS next ON true;
