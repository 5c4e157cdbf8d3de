-- What retention removes, slice by slice (docs/adr/0017-retention.md). Each of the three statements below continues
-- where the last one stopped (:after_tenant, :after_ending, :after_id), looks at 2000 groups (what ended one way for
-- one tenant) and at most :max_rows rows, and returns where the next one begins: after the last row it looked at, or
-- after the last group of its slice, or nowhere (null). The course begins where it is told to, without looking again at
-- what was removed there, and jumps from each group to the first row of the next: a pass costs as much as it finds plus
-- one index probe per group that exists, and no statement takes long. Rows are due for removal :hours after they ended;
-- `overdue_secs` is the longest that any of them was overdue.

-- name: expire_jobs
-- Removes finished jobs, with their keys and attempts. A job that ended before the cut was also created before it, and
-- ids sort by creation time, so the walk along (tenant, status, id) ends at the cut and needs no index on completed_at.
-- Jobs of a workflow stay as long as the workflow does. None of these rows is updated once its job has ended, so each
-- is still at the ctid where it was seen. A job that completed at once has no attempts to look for. The key of an
-- item of a batch stays until it is a week old.
-- include: cut
  SELECT :after_tenant::text COLLATE "C" AS tenant, :after_ending::millrace.job_status AS status,
-- include: next_group
    FROM millrace.done g
-- include: beyond_group
), walked AS MATERIALIZED (
  SELECT course.tenant, course.status, d.id, d.place, d.completed_at, d.delivery_count, j.place AS job_place,
         j.idempotency_key, j.workflow_id, j.created_at
  FROM course,
  LATERAL (
    SELECT d.ctid AS place, d.tenant, d.id, d.completed_at, d.delivery_count FROM millrace.done d
    WHERE d.tenant = course.tenant AND d.status = course.status AND d.id < (SELECT first_id FROM cut)
      AND d.id > CASE course.n WHEN 1 THEN :after_id::uuid ELSE '00000000-0000-0000-0000-000000000000' END
    ORDER BY d.id
  ) AS d,
  LATERAL (
    SELECT j.ctid AS place, j.idempotency_key, j.workflow_id, j.created_at FROM millrace.jobs j
    WHERE j.tenant = d.tenant AND j.id = d.id OFFSET 0
  ) AS j
  WHERE course.first < (SELECT first_id FROM cut)
  LIMIT :max_rows
), old AS MATERIALIZED (
  SELECT walked.tenant, walked.id, walked.place, walked.job_place, walked.idempotency_key,
         walked.created_at + interval '7 days' AS key_until, cut.at - walked.completed_at AS overdue,
         walked.delivery_count > CASE walked.status WHEN 'completed' THEN 1 ELSE 0 END AS attempted
  FROM walked, cut WHERE walked.completed_at < cut.at AND walked.workflow_id IS NULL
), job_ends AS (
  DELETE FROM millrace.done WHERE ctid = ANY (ARRAY(SELECT place FROM old)) RETURNING tenant, status
), removed AS (
  DELETE FROM millrace.jobs WHERE ctid = ANY (ARRAY(SELECT job_place FROM old)) RETURNING 1
), forgotten AS (
  DELETE FROM millrace.attempts WHERE ctid = ANY (ARRAY(
    SELECT a.place FROM old,
    LATERAL (
      SELECT a.ctid AS place FROM millrace.attempts a WHERE a.tenant = old.tenant AND a.job_id = old.id OFFSET 0
    ) AS a
    WHERE old.attempted
  ))
), own_key AS MATERIALIZED (
  SELECT k.place, k.lasts AND old.key_until > now() AS stays, old.key_until FROM old,
  LATERAL (
    SELECT k.ctid AS place, k.lasts FROM millrace.idempotency_keys k
    WHERE k.tenant = old.tenant AND k.key = old.idempotency_key OFFSET 0
  ) AS k
), freed AS (
  DELETE FROM millrace.idempotency_keys WHERE ctid = ANY (ARRAY(SELECT place FROM own_key WHERE stays IS NOT TRUE))
), outliving AS (
  UPDATE millrace.idempotency_keys k SET expires_at = own_key.key_until FROM own_key
  WHERE k.ctid = ANY (ARRAY(SELECT place FROM own_key WHERE stays)) AND k.ctid = own_key.place
), uncounted AS (
-- include: uncount_ends
)
SELECT (SELECT count(*) FROM removed)::int AS removed,
       (SELECT extract(epoch FROM max(overdue)) FROM old)::float8 AS overdue_secs,
       next.tenant, next.ending, next.id
FROM (SELECT) AS one LEFT JOIN (
  (SELECT tenant, status::text AS ending, id FROM walked WHERE (SELECT count(*) FROM walked) = :max_rows
   ORDER BY tenant DESC, status DESC, id DESC LIMIT 1)
  UNION ALL
  (SELECT tenant, status::text, 'ffffffff-ffff-ffff-ffff-ffffffffffff' FROM course WHERE n = 2000)
  LIMIT 1
) AS next ON true;

-- name: expire_dead_letters
-- Removes dead letters. One that is being replayed at this moment may stay until the next pass. Every row that is
-- walked is removed, so the tenant alone says where to continue.
WITH RECURSIVE cut AS MATERIALIZED (
  SELECT now() - :hours::float8 * interval '1 hour' AS at
), course AS (
  SELECT :after_tenant::text COLLATE "C" AS tenant, '-infinity'::timestamptz AS first, 1 AS n
  UNION ALL
  SELECT next.tenant, next.first, course.n + 1
  FROM course,
  LATERAL (
    SELECT d.tenant, d.created_at AS first FROM millrace.dead_letters d
    WHERE d.tenant > course.tenant ORDER BY d.tenant, d.created_at LIMIT 1
  ) AS next
  WHERE course.n < 2000
), old AS MATERIALIZED (
  SELECT course.tenant, d.place, d.created_at FROM course, LATERAL (
    SELECT d.ctid AS place, d.created_at FROM millrace.dead_letters d
    WHERE d.tenant = course.tenant AND d.created_at < (SELECT at FROM cut)
    ORDER BY d.created_at LIMIT :max_rows
  ) AS d
  WHERE course.first < (SELECT at FROM cut)
  LIMIT :max_rows
), gone AS (
  DELETE FROM millrace.dead_letters WHERE ctid = ANY (ARRAY(SELECT place FROM old)) RETURNING 1
)
SELECT (SELECT count(*) FROM gone)::int AS removed,
       (SELECT extract(epoch FROM cut.at - min(created_at)) FROM old, cut GROUP BY cut.at)::float8 AS overdue_secs,
       next.tenant
FROM (SELECT) AS one LEFT JOIN (
  SELECT max(tenant) AS tenant FROM old HAVING count(*) = :max_rows
  UNION ALL
  (SELECT tenant FROM course WHERE n = 2000)
  LIMIT 1
) AS next ON true;

-- name: expire_workflows
-- Removes ended workflows with the jobs of their steps and the contexts stored for those jobs. A workflow may have a
-- thousand steps, so a statement removes workflows of at most :max_steps together, or a single workflow. The state has
-- one letter per step. Everything that is removed follows from the ends that this statement removed itself: one that a
-- resume has taken away in the meantime is found gone, and nothing of that workflow is touched.
-- include: cut
  SELECT :after_tenant::text COLLATE "C" AS tenant, :after_ending::millrace.workflow_status AS status,
-- include: next_group
    FROM millrace.workflow_ends g
-- include: beyond_group
), walked AS MATERIALIZED (
  SELECT course.tenant, course.status, e.id, e.place, e.completed_at, e.steps
  FROM course,
  LATERAL (
    SELECT e.ctid AS place, e.id, e.completed_at, length(e.state) AS steps FROM millrace.workflow_ends e
    WHERE e.tenant = course.tenant AND e.status = course.status AND e.id < (SELECT first_id FROM cut)
      AND e.id > CASE course.n WHEN 1 THEN :after_id::uuid ELSE '00000000-0000-0000-0000-000000000000' END
    ORDER BY e.id
  ) AS e
  WHERE course.first < (SELECT first_id FROM cut)
  LIMIT :max_rows
), dated AS MATERIALIZED (
  SELECT walked.tenant, walked.status, walked.id, walked.place, cut.at - walked.completed_at AS overdue,
         sum(walked.steps) OVER in_order AS steps, row_number() OVER in_order AS rank
  FROM walked, cut WHERE walked.completed_at < cut.at
  WINDOW in_order AS (ORDER BY walked.tenant, walked.status, walked.id)
), old AS MATERIALIZED (
  SELECT tenant, status, id, place, overdue FROM dated WHERE rank = 1 OR steps <= :max_steps
), ended AS (
  DELETE FROM millrace.workflow_ends WHERE ctid = ANY (ARRAY(SELECT place FROM old)) RETURNING tenant, id
), step AS MATERIALIZED (
  SELECT j.place, j.tenant, j.id FROM ended,
  LATERAL (SELECT j.ctid AS place, j.tenant, j.id FROM millrace.jobs j WHERE j.workflow_id = ended.id OFFSET 0) AS j
), removed AS (
  DELETE FROM millrace.workflows WHERE ctid = ANY (ARRAY(
    SELECT w.place FROM ended,
    LATERAL (
      SELECT w.ctid AS place FROM millrace.workflows w WHERE w.tenant = ended.tenant AND w.id = ended.id OFFSET 0
    ) AS w
  ))
), contexts AS (
  DELETE FROM millrace.workflow_contexts WHERE ctid = ANY (ARRAY(
    SELECT c.place FROM ended,
    LATERAL (SELECT c.ctid AS place FROM millrace.workflow_contexts c WHERE c.workflow_id = ended.id OFFSET 0) AS c
  ))
), resumes AS (
  DELETE FROM millrace.workflow_resumes WHERE ctid = ANY (ARRAY(
    SELECT r.place FROM ended,
    LATERAL (SELECT r.ctid AS place FROM millrace.workflow_resumes r WHERE r.workflow_id = ended.id OFFSET 0) AS r
  ))
), earlier AS (
  DELETE FROM millrace.earlier_jobs WHERE ctid = ANY (ARRAY(
    SELECT e.place FROM ended,
    LATERAL (SELECT e.ctid AS place FROM millrace.earlier_jobs e WHERE e.workflow_id = ended.id OFFSET 0) AS e
  ))
), jobs AS (
  DELETE FROM millrace.jobs WHERE ctid = ANY (ARRAY(SELECT place FROM step))
), attempts AS (
  DELETE FROM millrace.attempts WHERE ctid = ANY (ARRAY(
    SELECT a.place FROM step,
    LATERAL (
      SELECT a.ctid AS place FROM millrace.attempts a WHERE a.tenant = step.tenant AND a.job_id = step.id OFFSET 0
    ) AS a
  ))
), job_ends AS (
  DELETE FROM millrace.done WHERE ctid = ANY (ARRAY(
    SELECT d.place FROM step,
    LATERAL (SELECT unnest(ARRAY['completed', 'failed', 'cancelled']::millrace.job_status[]) AS status) AS ending,
    LATERAL (
      SELECT d.ctid AS place FROM millrace.done d
      WHERE d.tenant = step.tenant AND d.status = ending.status AND d.id = step.id OFFSET 0
    ) AS d
  )) RETURNING tenant, status
), uncounted AS (
-- include: uncount_ends
)
SELECT (SELECT count(*) FROM ended)::int AS removed,
       (SELECT extract(epoch FROM max(overdue)) FROM old)::float8 AS overdue_secs,
       next.tenant, next.ending, next.id
FROM (SELECT) AS one LEFT JOIN (
  (SELECT tenant, status::text AS ending, id FROM old
   WHERE (SELECT count(*) FROM old) < (SELECT count(*) FROM dated)
   ORDER BY tenant DESC, status DESC, id DESC LIMIT 1)
  UNION ALL
  (SELECT tenant, status::text, id FROM walked WHERE (SELECT count(*) FROM walked) = :max_rows
   ORDER BY tenant DESC, status DESC, id DESC LIMIT 1)
  UNION ALL
  (SELECT tenant, status::text, 'ffffffff-ffff-ffff-ffff-ffffffffffff' FROM course WHERE n = 2000)
  LIMIT 1
) AS next ON true;

-- fragment: uncount_ends
  UPDATE millrace.totals t
  SET created = t.created - gone.n, completed = t.completed - gone.completed, failed = t.failed - gone.failed,
      cancelled = t.cancelled - gone.cancelled
  FROM (
    SELECT tenant, count(*) AS n, count(*) FILTER (WHERE status = 'completed') AS completed,
           count(*) FILTER (WHERE status = 'failed') AS failed,
           count(*) FILTER (WHERE status = 'cancelled') AS cancelled
    FROM job_ends GROUP BY tenant
  ) AS gone
  WHERE t.tenant = ANY (ARRAY(SELECT tenant FROM job_ends)) AND t.tenant = gone.tenant

-- fragment: cut
WITH RECURSIVE cut AS MATERIALIZED (
  SELECT at, millrace.first_id(at) AS first_id FROM (SELECT now() - :hours::float8 * interval '1 hour' AS at) AS instant
), course AS (

-- fragment: next_group
         :after_id::uuid AS first, 1 AS n
  UNION ALL
  SELECT next.tenant, next.status, next.first, course.n + 1
  FROM course,
  LATERAL (
    SELECT g.tenant, g.status, g.id AS first

-- fragment: beyond_group
    WHERE (g.tenant, g.status) > (course.tenant, course.status)
    ORDER BY g.tenant, g.status, g.id LIMIT 1
  ) AS next
  WHERE course.n < 2000
