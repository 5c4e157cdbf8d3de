-- Jobs that running jobs have created, and parents that wait for them.

-- name: hold_lease
-- Whose job a worker holds, if it holds it. It cannot end until the transaction does; others may extend the lease.
SELECT l.tenant FROM millrace.leases l WHERE l.id = :id AND l.token = :token FOR KEY SHARE;

-- name: take_lease
-- The same for who is about to put the job back to its queue.
SELECT l.tenant FROM millrace.leases l WHERE l.id = :id AND l.token = :token FOR UPDATE;

-- name: begin_parent
-- Makes the parent's row, or locks it: calls for one parent take turns.
INSERT INTO millrace.parents AS p (parent_id, open, tenant) VALUES (:id, true, :tenant)
ON CONFLICT (parent_id) DO UPDATE SET open = true;

-- name: children_by_name
-- Those of a parent that have one of these names. The caller holds the parent's row.
SELECT c.name, c.child_id, c.detached, c.status IS NOT NULL AS ended
FROM unnest(:names::text[]) AS asked (name), LATERAL (
  SELECT c.name, c.child_id, c.detached, c.status FROM millrace.children c
  WHERE c.parent_id = :id AND c.name = asked.name OFFSET 0
) AS c;

-- name: add_children
INSERT INTO millrace.children (parent_id, child_id, detached, tenant, name)
SELECT :id, given.child_id, given.detached, :tenant, given.name
FROM unnest(:child_ids::uuid[], :names::text[], :detached::bool[]) AS given (child_id, name, detached);

-- name: lock_parent
-- Whoever ends a child takes the same lock (tell_parents).
SELECT p.tenant, p.awaits, p.pending FROM millrace.parents p WHERE p.parent_id = :id FOR NO KEY UPDATE;

-- name: await_children
-- From now on the ends of these children are counted. The caller holds the parent's row.
WITH marked AS (
  UPDATE millrace.children c SET awaited_by = :checkpoint
  WHERE c.parent_id = :id AND c.name = ANY (:names::text[]) AND c.status IS NULL
)
UPDATE millrace.parents SET awaits = :checkpoint, pending = :pending WHERE parent_id = :id;

-- name: ends_of_children
-- How children ended, in the order of their names, as the checkpoint that tells their parent. What would pass
-- :max_bytes together with what the parent has stored is left out, and marked.
WITH ended AS MATERIALIZED (
  SELECT asked.n, c.name, c.child_id, c.status, c.result::text AS result, c.error
  FROM unnest(:names::text[]) WITH ORDINALITY AS asked (name, n), LATERAL (
    SELECT c.name, c.child_id, c.status, c.result, c.error FROM millrace.children c
    WHERE c.parent_id = :id AND c.name = asked.name OFFSET 0
  ) AS c
), room AS MATERIALIZED (
  SELECT :max_bytes::bigint - coalesce((
    SELECT t.bytes FROM millrace.checkpoint_totals t WHERE t.job_id = :id
  ), 0) AS bytes
), written AS MATERIALIZED (
  SELECT ended.n, '{"name":' || to_json(ended.name)::text || ',"job_id":"' || ended.child_id || '","status":"'
                  || ended.status || '"' AS head,
         CASE WHEN ended.status = 'completed' THEN ',"result":' || coalesce(ended.result, 'null')
              ELSE ',"error":' || coalesce(to_json(ended.error)::text, 'null') END AS outcome
  FROM ended
), measured AS MATERIALIZED (
  SELECT n, head, outcome, sum(octet_length(head) + octet_length(outcome) + 2) OVER (ORDER BY n) AS bytes FROM written
)
SELECT '{"children":[' || string_agg(
         head || CASE WHEN bytes + 15 <= (SELECT bytes FROM room) THEN outcome ELSE ',"omitted":true' END || '}',
         ',' ORDER BY n
       ) || ']}' AS answer
FROM measured;

-- name: end_of_wait
-- What a parent waits for, if its row can be had at once: whoever wakes a parent waits for nobody, since others wait
-- for the lock that it holds. No row: the parent has moved, or it waits for something else by now.
SELECT to_json(w.children)::text AS names
FROM millrace.waits w, LATERAL (
  SELECT true AS found FROM (
    SELECT r.id FROM millrace.ready r WHERE r.tenant = :tenant AND r.id = :id FOR UPDATE SKIP LOCKED
  ) AS r
  UNION ALL
  SELECT true FROM (SELECT l.id FROM millrace.leases l WHERE l.id = :id FOR KEY SHARE SKIP LOCKED) AS l
  LIMIT 1
) AS l
WHERE w.job_id = :id AND w.checkpoint = :checkpoint AND w.children IS NOT NULL;

-- name: is_awaiting
-- Whether that wait is still there, and the parent too: waits of jobs that have ended stay for a while.
SELECT EXISTS (SELECT FROM millrace.waits w WHERE w.job_id = :id AND w.checkpoint = :checkpoint) AND (
         EXISTS (SELECT FROM millrace.ready r WHERE r.tenant = :tenant AND r.id = :id)
         OR EXISTS (SELECT FROM millrace.leases l WHERE l.id = :id)
       ) AS waits;

-- name: end_waiting
-- The parent waits for its children no longer.
UPDATE millrace.parents SET awaits = NULL WHERE parent_id = :id;

-- name: parents_of
-- Of jobs whose ids are marked.
SELECT c.child_id AS id, c.parent_id
FROM unnest(:ids::uuid[]) AS asked (id), LATERAL (
  SELECT c.child_id, c.parent_id FROM millrace.children c WHERE c.child_id = asked.id OFFSET 0
) AS c;

-- name: forgotten_parents
-- Parents that have nothing to wait for any more, and that nobody has woken, among :max_rows open ones after :after_id.
-- It looks nowhere else, so that however often it is asked, those that wait cost next to nothing. `next`: where to go
-- on; null: that was all.
WITH walked AS MATERIALIZED (
  SELECT p.parent_id, p.awaits IS NOT NULL AND p.pending <= 0 AS complete FROM millrace.parents p
  WHERE p.open AND p.parent_id > :after_id ORDER BY p.parent_id LIMIT :max_rows::int
)
SELECT (SELECT max(parent_id::text) FROM walked HAVING count(*) = :max_rows::int) AS next,
       (SELECT json_agg(parent_id) FROM walked WHERE complete)::text AS forgotten;

-- name: walk_parents
-- Among :max_rows open parents after :after_id: those that were cancelled, and those that have ended otherwise, which
-- are closed. Most of them wait in a queue, which is looked at first. `next`: where to go on; null: that was all.
WITH walked AS MATERIALIZED (
  SELECT p.parent_id, p.tenant FROM millrace.parents p
  WHERE p.open AND p.parent_id > :after_id ORDER BY p.parent_id LIMIT :max_rows::int
), found AS MATERIALIZED (
  SELECT walked.parent_id, walked.tenant, ended.status
  FROM walked LEFT JOIN LATERAL (
    SELECT r.id FROM millrace.ready r WHERE r.tenant = walked.tenant AND r.id = walked.parent_id OFFSET 0
  ) AS r ON true,
  LATERAL (
    SELECT ending.status FROM unnest(ARRAY['completed', 'failed', 'cancelled']::millrace.job_status[])
      AS ending (status), LATERAL (
      SELECT FROM millrace.done d
      WHERE d.tenant = walked.tenant AND d.status = ending.status AND d.id = walked.parent_id OFFSET 0
    ) AS d
  ) AS ended
  WHERE r.id IS NULL
), closed AS (
  UPDATE millrace.parents p SET open = false, awaits = NULL
  WHERE p.parent_id = ANY (ARRAY(SELECT parent_id FROM found WHERE status <> 'cancelled'))
)
SELECT (SELECT max(parent_id::text) FROM walked HAVING count(*) = :max_rows::int) AS next,
       (SELECT json_agg(json_build_array(parent_id, tenant)) FROM found WHERE status = 'cancelled')::text AS cancelled;

-- name: children_to_cancel
-- Of a parent that was cancelled: children that have not ended, :max_rows at a time. Without any, nothing is left to
-- do.
WITH unfinished AS MATERIALIZED (
  SELECT c.child_id FROM millrace.children c
  WHERE c.parent_id = :id AND c.status IS NULL AND NOT c.detached ORDER BY c.child_id LIMIT :max_rows::int
), closed AS (
  UPDATE millrace.parents SET open = false, awaits = NULL
  WHERE parent_id = :id AND NOT EXISTS (SELECT FROM unfinished)
)
SELECT child_id AS id FROM unfinished;

-- name: unheard_ends
-- Children that have ended without their parent being told, by a process of a version that knows nothing of parents:
-- among :max_rows unfinished ones. `next_parent`, `next_child`: where to go on; null: that was all.
WITH walked AS MATERIALIZED (
  SELECT c.parent_id, c.child_id, c.tenant FROM millrace.children c
  WHERE c.status IS NULL AND NOT c.detached AND (c.parent_id, c.child_id) > (:after_parent::uuid, :after_child::uuid)
  ORDER BY c.parent_id, c.child_id LIMIT :max_rows::int
), ended AS MATERIALIZED (
  SELECT walked.parent_id, walked.child_id FROM walked
  LEFT JOIN LATERAL (
    SELECT r.id FROM millrace.ready r WHERE r.tenant = walked.tenant AND r.id = walked.child_id OFFSET 0
  ) AS r ON true
  LEFT JOIN LATERAL (SELECT l.id FROM millrace.leases l WHERE l.id = walked.child_id OFFSET 0) AS l ON true
  WHERE r.id IS NULL AND l.id IS NULL
), last AS MATERIALIZED (
  SELECT parent_id, child_id FROM walked WHERE (SELECT count(*) FROM walked) = :max_rows::int
  ORDER BY parent_id DESC, child_id DESC LIMIT 1
)
SELECT (SELECT json_agg(DISTINCT parent_id) FROM ended)::text AS parents,
       (SELECT parent_id FROM last) AS next_parent, (SELECT child_id FROM last) AS next_child;

-- name: mend_ends
-- Writes down how children of a parent ended, where nobody did, and counts those that it waits for. One that is gone
-- altogether counts as cancelled. The caller holds the parent's row.
WITH unfinished AS MATERIALIZED (
  SELECT c.child_id, c.tenant FROM millrace.children c
  WHERE c.parent_id = :id AND c.status IS NULL AND NOT c.detached
), ended AS MATERIALIZED (
  SELECT unfinished.child_id, coalesce(d.status, 'cancelled') AS status, d.result, d.error
  FROM unfinished
  LEFT JOIN LATERAL (
    SELECT d.status, d.result, CASE WHEN d.status <> 'completed' THEN d.error END AS error
    FROM unnest(ARRAY['completed', 'failed', 'cancelled']::millrace.job_status[]) AS ending (status), LATERAL (
      SELECT d.status, d.result, d.error FROM millrace.done d
      WHERE d.tenant = unfinished.tenant AND d.status = ending.status AND d.id = unfinished.child_id OFFSET 0
    ) AS d
  ) AS d ON true
  LEFT JOIN LATERAL (
    SELECT j.id FROM millrace.jobs j WHERE j.tenant = unfinished.tenant AND j.id = unfinished.child_id OFFSET 0
  ) AS j ON true
  WHERE d.status IS NOT NULL OR j.id IS NULL
), mended AS (
  UPDATE millrace.children c SET status = ended.status, result = ended.result, error = ended.error
  FROM ended WHERE c.child_id = ANY (ARRAY(SELECT child_id FROM ended)) AND c.child_id = ended.child_id
  RETURNING c.awaited_by
)
UPDATE millrace.parents p
SET pending = p.pending - (SELECT count(*) FROM mended WHERE mended.awaited_by = p.awaits)::int
WHERE p.parent_id = :id
RETURNING p.awaits IS NOT NULL AND p.pending <= 0 AS complete;
