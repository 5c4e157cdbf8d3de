-- Room that nobody holds. The statements that end attempts give room back themselves; a process of a version that knows
-- nothing of limits does not. What it leaves behind only ever keeps too many waiting, until it is found here.

-- name: miscounted
-- Limits after :after that do not count what holds room, as far as indexes tell, :max_limits at most. Only candidates.
SELECT l.id
FROM millrace.limits l
LEFT JOIN (SELECT g.limit_id, sum(g.n) AS n FROM millrace.given_back g GROUP BY g.limit_id) AS note
  ON note.limit_id = l.id
LEFT JOIN (
  SELECT each.id, count(*) AS n FROM (
    SELECT j.limits FROM millrace.running e, LATERAL (
      SELECT j.limits FROM millrace.jobs j WHERE j.tenant = e.tenant AND j.id = e.id OFFSET 0
    ) AS j
    UNION ALL
    SELECT r.limits FROM millrace.ready r WHERE r.limits IS NOT NULL AND r.later IS NOT FALSE
    UNION ALL
    SELECT r.limits FROM millrace.ready r
    WHERE r.waits_for IS NOT NULL AND r.waits_for <> ALL (r.limits)
      AND (SELECT EXISTS (SELECT FROM millrace.queue_limits g WHERE g.share IS NOT NULL))
  ) AS holder, unnest(holder.limits) AS each (id)
  GROUP BY each.id
) AS holds ON holds.id = l.id
WHERE l.id > :after::uuid AND l.running - coalesce(note.n, 0) <> coalesce(holds.n, 0)
ORDER BY l.id LIMIT :max_limits::int;

-- name: recount
-- Counts anew who holds room at limits that this transaction holds: nobody can be admitted meanwhile, and what is given
-- back meanwhile is noted. A job that a process of an earlier version put back into its queue holds room as well,
-- although its row does not say so: such rows are found by the mark in their ids, among all that wait.
WITH holder AS MATERIALIZED (
  SELECT j.limits FROM millrace.running e, LATERAL (
    SELECT j.limits FROM millrace.jobs j WHERE j.tenant = e.tenant AND j.id = e.id OFFSET 0
  ) AS j
  UNION ALL
  SELECT r.limits FROM millrace.ready r WHERE r.limits IS NOT NULL AND r.later IS NOT FALSE
  UNION ALL
  SELECT r.limits FROM millrace.ready r WHERE r.waits_for IS NOT NULL AND r.waits_for <> ALL (r.limits)
  UNION ALL
  SELECT j.limits FROM millrace.ready r, LATERAL (
    SELECT j.limits FROM millrace.jobs j WHERE j.tenant = r.tenant AND j.id = r.id OFFSET 0
  ) AS j
  WHERE r.limits IS NULL AND substr(r.id::text, 20, 1) IN ('9', 'b')
), counted AS MATERIALIZED (
  SELECT asked.id, (
    SELECT count(*) FROM holder, unnest(holder.limits) AS each (id) WHERE each.id = asked.id
  ) + (
    SELECT coalesce(sum(g.n), 0) FROM millrace.given_back g WHERE g.limit_id = asked.id
  ) AS n
  FROM unnest(:ids::uuid[]) AS asked (id)
), mended AS (
  UPDATE millrace.limits l SET running = counted.n
  FROM counted WHERE l.id = ANY (:ids::uuid[]) AND l.id = counted.id AND l.running <> counted.n
  RETURNING l.id
), noted AS (
  INSERT INTO millrace.limit_notes (given_back, limit_id) SELECT 0, id FROM mended
)
SELECT id FROM mended;
