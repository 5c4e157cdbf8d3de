-- Letting jobs into their queues as room becomes free. One transaction locks limits, reads their lines in a later
-- statement, whose snapshot is younger than the lock, and moves what there is room for (domain/limits.ts decides).

-- name: lock_limits
-- Those of these limits that exist, and whether they are ours now: nobody else held them.
WITH locked AS MATERIALIZED (
  SELECT l.id FROM millrace.limits l
  WHERE l.id = ANY (:ids::uuid[]) ORDER BY l.id FOR NO KEY UPDATE SKIP LOCKED
)
SELECT known.id, locked.id IS NOT NULL AS held
FROM unnest(:ids::uuid[]) AS asked (id),
LATERAL (SELECT l.id FROM millrace.limits l WHERE l.id = asked.id OFFSET 0) AS known
LEFT JOIN locked ON locked.id = known.id;

-- name: restore_limits
-- A limit that has been dropped, or was never made, but that a job names: the newest job with a note, or else one that
-- waits for another limit and needs this one too (:job_ids). Its numbers are the job's.
WITH newest AS MATERIALIZED (
  SELECT asked.id AS limit_id, coalesce(n.tenant, asked.tenant) AS tenant, coalesce(n.job_id, asked.job_id) AS job_id
  FROM unnest(:ids::uuid[], :tenants::text[], :job_ids::uuid[]) AS asked (id, tenant, job_id)
  LEFT JOIN LATERAL (
    SELECT n.tenant, n.job_id FROM millrace.limit_notes n
    WHERE n.limit_id = asked.id AND n.job_id IS NOT NULL ORDER BY n.job_id DESC LIMIT 1
  ) AS n ON true
)
INSERT INTO millrace.limits (most, id, newest, tenant, queue, key)
SELECT own.most, newest.limit_id, newest.job_id, j.tenant, j.queue, own.key
FROM newest, LATERAL (
  SELECT j.tenant, j.queue, j.config, j.limits FROM millrace.jobs j
  WHERE j.tenant = newest.tenant AND j.id = newest.job_id OFFSET 0
) AS j, LATERAL (
  SELECT (named.value ->> 'running')::int AS most, named.value ->> 'key' AS key
  FROM json_array_elements(j.config -> 'limits') WITH ORDINALITY AS named (value, n)
  WHERE j.limits[named.n] = newest.limit_id
) AS own
ORDER BY newest.limit_id
ON CONFLICT (id) DO NOTHING
RETURNING id;

-- name: read_lines
-- What is known of limits that this transaction holds, with the first in their lines: one more than there is room for,
-- so that it shows whether somebody is left. Takes up the notes about them. Of several jobs that named a limit the
-- newest counts, unless a newer one has counted before.
WITH note AS (
  DELETE FROM millrace.limit_notes n WHERE n.limit_id = ANY (:ids::uuid[])
  RETURNING n.limit_id, n.given_back, n.tenant, n.job_id
), told AS MATERIALIZED (
  SELECT note.limit_id, sum(note.given_back)::int AS given_back,
         (array_agg(note.tenant ORDER BY note.job_id DESC) FILTER (WHERE note.job_id IS NOT NULL))[1] AS tenant,
         (array_agg(note.job_id ORDER BY note.job_id DESC) FILTER (WHERE note.job_id IS NOT NULL))[1] AS job_id
  FROM note GROUP BY note.limit_id
), known AS MATERIALIZED (
  SELECT l.id, l.running - coalesce(told.given_back, 0) AS running, coalesce(named.most, l.most) AS most,
         CASE WHEN named.most IS NULL THEN l.newest ELSE told.job_id END AS newest
  FROM unnest(:ids::uuid[]) AS asked (id),
  LATERAL (
    SELECT l.id, l.running, l.most, l.newest FROM millrace.limits l WHERE l.id = asked.id OFFSET 0
  ) AS l
  LEFT JOIN told ON told.limit_id = l.id
  LEFT JOIN LATERAL (
    SELECT (each.value ->> 'running')::int AS most
    FROM (
      SELECT j.config, j.limits FROM millrace.jobs j WHERE j.tenant = told.tenant AND j.id = told.job_id OFFSET 0
    ) AS j, LATERAL json_array_elements(j.config -> 'limits') WITH ORDINALITY AS each (value, n)
    WHERE (l.newest IS NULL OR told.job_id > l.newest) AND j.limits[each.n] = l.id
  ) AS named ON true
)
SELECT known.id, known.running, known.most, known.newest,
       (SELECT json_agg(json_build_array(head.tenant, head.id, head.limits))
        FROM (
          SELECT r.tenant, r.id, r.limits FROM millrace.ready r WHERE r.waits_for = known.id
          ORDER BY r.priority DESC, r.scheduled_at, r.id
          LIMIT greatest(0, least(known.most - known.running, :max_jobs::int)) + 1
        ) AS head)::text AS heads
FROM known;

-- name: move_waiting
-- Writes what was decided: jobs leave their line for the queue (:places null) or for the line of another limit, and
-- limits are as given, plus one for each job that took room. A job that somebody else has locked, to cancel it, stays:
-- its line is looked at again. :looks: so are these.
WITH asked AS MATERIALIZED (
  SELECT asked.place AS waits_for, asked.line, r.at
  FROM unnest(:tenants::text[], :ids::uuid[], :places::uuid[], :lines::uuid[]) AS asked (tenant, id, place, line)
  LEFT JOIN LATERAL (
    SELECT r.ctid AS at, r.waits_for FROM millrace.ready r
    WHERE r.tenant = asked.tenant AND r.id = asked.id OFFSET 0 FOR UPDATE SKIP LOCKED
  ) AS r ON r.waits_for = asked.line
), gone AS (
  DELETE FROM millrace.ready r USING asked
  WHERE r.ctid = ANY (ARRAY(SELECT at FROM asked)) AND r.ctid = asked.at
  RETURNING r.scheduled_at, r.started_at, r.priority, r.retry_count, r.delivery_count, r.id, r.tenant, r.queue,
            r.workflow_id, r.error, r.size, r.limits, r.expires_at, asked.waits_for
), moved AS (
  INSERT INTO millrace.ready (scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue,
                              workflow_id, error, later, size, limits, waits_for, expires_at)
  SELECT scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue, workflow_id, error,
         CASE WHEN waits_for IS NOT NULL THEN false END, size, limits, waits_for, expires_at
  FROM gone ORDER BY tenant, id
), taken AS MATERIALIZED (
  SELECT each.id, count(*)::int AS n FROM gone, unnest(gone.limits) AS each (id)
  WHERE gone.waits_for IS NULL GROUP BY each.id
), missed AS MATERIALIZED (
  SELECT DISTINCT asked.line AS id FROM asked WHERE asked.at IS NULL
), kept AS (
  UPDATE millrace.limits l
  SET running = given.running + coalesce(taken.n, 0), most = given.most, newest = given.newest,
      waiting = given.waiting OR missed.id IS NOT NULL
  FROM unnest(:limit_ids::uuid[], :running::int[], :mosts::int[], :newest::uuid[], :waiting::bool[])
    AS given (id, running, most, newest, waiting)
  LEFT JOIN taken ON taken.id = given.id LEFT JOIN missed ON missed.id = given.id
  WHERE l.id = ANY (:limit_ids::uuid[]) AND l.id = given.id
), noted AS (
  INSERT INTO millrace.limit_notes (given_back, limit_id)
  SELECT 0, id FROM missed UNION SELECT 0, look.id FROM unnest(:looks::uuid[]) AS look (id)
  RETURNING limit_id
)
SELECT (SELECT json_agg(DISTINCT limit_id) FROM noted)::text AS looks,
       (SELECT json_agg(json_build_array(admitted.queue, admitted.priority, admitted.n, admitted.since)) FROM (
          SELECT gone.queue, gone.priority, count(*)::int AS n,
                 (extract(epoch FROM min(gone.scheduled_at)) * 1000)::float8 AS since
          FROM gone WHERE gone.waits_for IS NULL GROUP BY gone.queue, gone.priority
        ) AS admitted)::text AS admitted;

-- name: wake_sleepers
-- Jobs with limits that have fallen due join the line of their first limit. Returns the limits to look at (those, and
-- all about which there are notes), how long it is until the next one falls due, whether limits are used at all,
-- whether jobs have expired, and whether there are unique jobs.
WITH due AS MATERIALIZED (
  SELECT r.ctid AS at FROM millrace.ready r
  WHERE NOT r.later AND r.waits_for IS NULL AND r.scheduled_at <= now()
  ORDER BY r.scheduled_at, r.id LIMIT :max_jobs::int FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM millrace.ready r WHERE r.ctid = ANY (ARRAY(SELECT at FROM due))
  RETURNING r.scheduled_at, r.started_at, r.priority, r.retry_count, r.delivery_count, r.id, r.tenant, r.queue,
            r.workflow_id, r.error, r.size, r.limits, r.expires_at
), moved AS (
  INSERT INTO millrace.ready (scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue,
                              workflow_id, error, later, size, limits, waits_for, expires_at)
  SELECT scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue, workflow_id, error, false,
         size, limits, limits[1], expires_at
  FROM gone ORDER BY tenant, id
), noted AS (
  INSERT INTO millrace.limit_notes (given_back, limit_id, job_id, tenant)
  SELECT DISTINCT ON (limits[1]) 0, limits[1], id, tenant FROM gone ORDER BY limits[1], id DESC
), next AS MATERIALIZED (
  SELECT r.scheduled_at FROM millrace.ready r
  WHERE NOT r.later AND r.waits_for IS NULL AND r.scheduled_at > now() ORDER BY r.scheduled_at, r.id LIMIT 1
)
SELECT (SELECT count(*) FROM gone)::int AS woken, (SELECT json_agg(DISTINCT limits[1]) FROM gone)::text AS limits,
       (SELECT json_agg(DISTINCT noted.limit_id) FROM (
          SELECT n.limit_id FROM millrace.limit_notes n ORDER BY n.limit_id LIMIT :max_notes::int
        ) AS noted)::text AS noted,
       (SELECT extract(epoch FROM scheduled_at - now()) * 1000 FROM next)::float8 AS next_ms,
       (SELECT EXISTS (SELECT FROM millrace.limits)) OR (SELECT EXISTS (SELECT FROM next)) AS in_use,
       (SELECT true FROM millrace.ready r WHERE r.expires_at <= now() ORDER BY r.expires_at LIMIT 1) IS TRUE AS expired,
       EXISTS (SELECT FROM millrace.unique_keys) AS unique_used;

-- name: drop_unused
-- Limits that nobody uses any more, :max_limits of those after :after. A limit with notes or with somebody in its line
-- is in use; if that begins while we look, the note brings the limit back (restore_limits).
WITH walked AS MATERIALIZED (
  SELECT l.id, l.running, l.waiting FROM millrace.limits l
  WHERE l.id > :after::uuid ORDER BY l.id LIMIT :max_limits::int
), unused AS MATERIALIZED (
  SELECT w.id FROM walked w WHERE w.running = 0 AND NOT w.waiting
), gone AS (
  DELETE FROM millrace.limits l WHERE l.id = ANY (ARRAY(
    SELECT held.id FROM unused, LATERAL (
      SELECT l.id FROM millrace.limits l
      WHERE l.id = unused.id AND l.running = 0 AND NOT l.waiting FOR UPDATE SKIP LOCKED
    ) AS held
  ))
  RETURNING 1
)
SELECT (SELECT count(*) FROM gone)::int AS dropped, (SELECT max(id::text) FROM walked) AS last,
       (SELECT count(*) FROM walked)::int AS walked;
