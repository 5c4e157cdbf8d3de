-- name: expire_waiting
-- Ends jobs that expired before they were delivered, :max_jobs of them. One that was admitted by its limits gives
-- back its room, and one with a parent tells it, as in cancel_waiting_limited. A claim that has one of them locked is
-- about to skip it, so it is left to the next sweep.
WITH due AS MATERIALIZED (
  SELECT r.ctid AS place FROM millrace.ready r
  WHERE r.expires_at <= now() AND r.delivery_count = 0 AND r.workflow_id IS NULL
  ORDER BY r.expires_at LIMIT :max_jobs::int FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM millrace.ready r WHERE r.ctid = ANY (ARRAY(SELECT place FROM due))
  RETURNING r.id, r.tenant, r.scheduled_at, r.queue, r.later, r.waits_for, r.limits
), ended AS (
  INSERT INTO millrace.done (completed_at, scheduled_at, retry_count, delivery_count, status, id, tenant, error)
  SELECT now(), scheduled_at, 0, 0, 'cancelled', id, tenant, :error FROM gone
), followed AS (
  INSERT INTO millrace.recent_ends (at, job_id, status, tenant)
  SELECT now(), id, 'cancelled', tenant FROM gone
  WHERE EXISTS (SELECT FROM millrace.followed f WHERE f.tenant = gone.tenant AND f.until > now())
), seen AS (
  INSERT INTO millrace.transitions (at, scheduled_at, retry_count, delivery_count, status, job_id, error)
  SELECT now(), scheduled_at, 0, 0, 'cancelled', id, :error
  FROM gone, LATERAL (SELECT FROM millrace.watches w WHERE w.job_id = gone.id LIMIT 1) AS watched
  RETURNING 1
), freed AS MATERIALIZED (
  SELECT each.id, count(*)::int AS n FROM gone, unnest(gone.limits) AS each (id)
  WHERE millrace.holds_room(gone.later, gone.waits_for, gone.limits) GROUP BY each.id
), noted AS (
  INSERT INTO millrace.limit_notes (given_back, limit_id) SELECT freed.n, freed.id FROM freed
  RETURNING limit_id
), family AS MATERIALIZED (
  SELECT c.parent_id, gone.id FROM gone, LATERAL (
    SELECT c.parent_id FROM millrace.children c WHERE c.child_id = gone.id AND NOT c.detached OFFSET 0
  ) AS c
), tied AS MATERIALIZED (
  SELECT p.parent_id FROM millrace.parents p
  WHERE p.parent_id = ANY (ARRAY(SELECT parent_id FROM family)) ORDER BY p.parent_id FOR NO KEY UPDATE
), told AS (
  UPDATE millrace.children c SET status = 'cancelled', error = :error
  FROM family, tied
  WHERE c.child_id = ANY (ARRAY(SELECT id FROM family)) AND c.child_id = family.id AND c.parent_id = tied.parent_id
    AND c.status IS NULL
  RETURNING c.parent_id, c.awaited_by
), counted AS (
  UPDATE millrace.parents p SET pending = p.pending - cardinality(array_positions(ended.waits, p.awaits))
  FROM (
    SELECT parent_id, array_agg(awaited_by) AS waits FROM told WHERE awaited_by IS NOT NULL GROUP BY parent_id
  ) AS ended
  WHERE p.parent_id = ANY (ARRAY(SELECT parent_id FROM told)) AND p.parent_id = ended.parent_id
  RETURNING p.parent_id, p.awaits IS NOT NULL AND p.pending <= 0 AS complete
)
SELECT gone.id, gone.tenant, gone.queue, origin.task, (SELECT count(*) FROM seen)::int AS watched,
       CASE WHEN row_number() OVER () = 1 THEN (SELECT json_agg(DISTINCT limit_id) FROM noted)::text END AS looks,
       CASE WHEN row_number() OVER () = 1 THEN (SELECT json_agg(parent_id) FROM counted WHERE complete)::text END
         AS parents
FROM gone, LATERAL (
  SELECT j.task FROM millrace.jobs j WHERE j.tenant = gone.tenant AND j.id = gone.id OFFSET 0
) AS origin;
