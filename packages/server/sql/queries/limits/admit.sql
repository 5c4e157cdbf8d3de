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
-- A limit that has been dropped, or was never made, but that a job names: of those about which there are notes, one
-- that waits for another limit and needs this one too (:job_ids), and the first in its line, the one that named it
-- last. Its numbers are the job's.
INSERT INTO millrace.limits (most, rate_count, rate_secs, rate_burst, id, newest, tenant, queue, key)
SELECT own.most, own.rate_count, own.rate_secs, own.rate_burst, asked.id, own.named, own.tenant, own.queue, own.key
FROM unnest(:ids::uuid[], :tenants::text[], :job_ids::uuid[]) AS asked (id, tenant, job_id), LATERAL (
  SELECT given.named, j.tenant, j.queue, each.value ->> 'key' AS key, numbers.*
  FROM (
    SELECT * FROM (
      SELECT n.tenant, n.job_id, coalesce(n.named, n.job_id) AS named
      FROM millrace.limit_notes n WHERE n.limit_id = asked.id AND n.job_id IS NOT NULL
      UNION ALL SELECT asked.tenant, asked.job_id, asked.job_id WHERE asked.job_id IS NOT NULL
      UNION ALL (
        SELECT r.tenant, r.id, r.id FROM millrace.ready r WHERE r.waits_for = asked.id
        ORDER BY r.priority DESC, r.scheduled_at, r.id LIMIT 1
      )
    ) AS known
    ORDER BY named DESC
  ) AS given, LATERAL (
    SELECT j.tenant, j.queue, j.config, j.limits FROM millrace.jobs j
    WHERE j.tenant = given.tenant AND j.id = given.job_id OFFSET 0
  ) AS j, LATERAL json_array_elements(j.config -> 'limits') WITH ORDINALITY AS each (value, n), LATERAL (
-- include: numbers_of_each
  ) AS numbers
  WHERE j.limits[each.n] = asked.id
  ORDER BY given.named DESC LIMIT 1
) AS own
ORDER BY asked.id
ON CONFLICT (id) DO NOTHING
RETURNING id;

-- name: drop_orphans
-- Removes notes about limits that are not there and need not be: their jobs name them no more, as one that was replaced
-- before anybody looked, or have been removed. Returns those of the limits that are not there.
WITH gone AS MATERIALIZED (
  SELECT asked.id FROM unnest(:ids::uuid[]) AS asked (id)
  LEFT JOIN LATERAL (
    SELECT true AS found FROM millrace.limits l WHERE l.id = asked.id OFFSET 0
  ) AS l ON true
  WHERE l.found IS NULL
), dropped AS (
  DELETE FROM millrace.limit_notes n
  WHERE n.limit_id = ANY (ARRAY(SELECT id FROM gone)) AND (
    SELECT true FROM millrace.jobs j WHERE j.tenant = n.tenant AND j.id = n.job_id AND n.limit_id = ANY (j.limits)
  ) IS NULL
)
SELECT id FROM gone;

-- name: read_lines
-- What is known of limits that this transaction holds, with the first in their lines: one more than there is room for,
-- so that it shows whether somebody is left. Takes up the notes about them. Of several jobs that named a limit the
-- last one to do so counts, unless a later one has counted before. Of a limit with a rate also how many jobs have a
-- token (`given`), how many of them have left the queue since (`gone`), and how many of these were cancelled unclaimed
-- (`refunded`); those that are gone are forgotten.
WITH note AS (
  DELETE FROM millrace.limit_notes n WHERE n.limit_id = ANY (:ids::uuid[])
  RETURNING n.limit_id, n.given_back, n.tenant, n.job_id, coalesce(n.named, n.job_id) AS named
), told AS MATERIALIZED (
  SELECT note.limit_id, sum(note.given_back)::int AS given_back,
         (array_agg(note.tenant ORDER BY note.named DESC) FILTER (WHERE note.job_id IS NOT NULL))[1] AS tenant,
         (array_agg(note.job_id ORDER BY note.named DESC) FILTER (WHERE note.job_id IS NOT NULL))[1] AS job_id,
         (array_agg(note.named ORDER BY note.named DESC) FILTER (WHERE note.job_id IS NOT NULL))[1] AS named
  FROM note GROUP BY note.limit_id
), held AS MATERIALIZED (
  SELECT l.* FROM unnest(:ids::uuid[]) AS asked (id),
  LATERAL (SELECT l.* FROM millrace.limits l WHERE l.id = asked.id OFFSET 0) AS l
), token AS MATERIALIZED (
  SELECT t.place, t.limit_id, t.job_id, t.tenant, t.admitted_at, r.found IS NOT NULL AS unclaimed
  FROM held, LATERAL (
    SELECT t.ctid AS place, t.* FROM millrace.limit_tokens t
    WHERE t.limit_id = held.id AND held.tokens IS NOT NULL OFFSET 0
  ) AS t
  LEFT JOIN LATERAL (
    SELECT true AS found FROM millrace.ready r
    WHERE r.tenant = t.tenant AND r.id = t.job_id AND millrace.holds_room(r.later, r.waits_for, r.limits) OFFSET 0
  ) AS r ON true
), used AS (
  DELETE FROM millrace.limit_tokens WHERE ctid = ANY (ARRAY(SELECT place FROM token WHERE NOT unclaimed))
), bucket AS MATERIALIZED (
  SELECT token.limit_id, count(*)::int AS given, count(*) FILTER (WHERE NOT unclaimed)::int AS gone,
         count(*) FILTER (WHERE d.found IS NOT NULL)::int AS refunded,
         min(token.admitted_at) FILTER (WHERE unclaimed) AS oldest
  FROM token LEFT JOIN LATERAL (
    SELECT true AS found FROM millrace.done d
    WHERE NOT token.unclaimed AND d.tenant = token.tenant AND d.status = 'cancelled' AND d.id = token.job_id
      AND (d.started_at IS NULL OR d.started_at < token.admitted_at) OFFSET 0
  ) AS d ON true
  GROUP BY token.limit_id
), known AS MATERIALIZED (
  SELECT l.id, l.running - coalesce(told.given_back, 0) AS running, l.waiting, l.tokens, l.refilled_at,
         l.rate_count AS old_count, l.rate_secs AS old_secs, l.rate_burst AS old_burst, now.*,
         CASE WHEN named.n IS NULL THEN l.newest ELSE told.named END AS newest
  FROM held AS l
  LEFT JOIN told ON told.limit_id = l.id
  LEFT JOIN LATERAL (
    SELECT each.n, numbers.* FROM (
      SELECT j.config, j.limits FROM millrace.jobs j WHERE j.tenant = told.tenant AND j.id = told.job_id OFFSET 0
    ) AS j, LATERAL json_array_elements(j.config -> 'limits') WITH ORDINALITY AS each (value, n), LATERAL (
-- include: numbers_of_each
    ) AS numbers
    WHERE (l.newest IS NULL OR told.named > l.newest) AND j.limits[each.n] = l.id
  ) AS named ON true,
  LATERAL (
    SELECT CASE WHEN named.n IS NULL THEN l.most ELSE named.most END AS most,
           CASE WHEN named.n IS NULL THEN l.rate_count ELSE named.rate_count END AS rate_count,
           CASE WHEN named.n IS NULL THEN l.rate_secs ELSE named.rate_secs END AS rate_secs,
           CASE WHEN named.n IS NULL THEN l.rate_burst ELSE named.rate_burst END AS rate_burst
  ) AS now
)
SELECT known.id, known.running, known.most, known.newest, line.shown, known.waiting AS waited,
       known.rate_count, known.rate_secs, known.rate_burst, known.old_count, known.old_secs, known.old_burst,
       known.tokens, clock.at::text AS now, extract(epoch FROM clock.at - known.refilled_at)::float8 AS elapsed_secs,
       coalesce(bucket.given, 0) AS given, coalesce(bucket.gone, 0) AS gone, coalesce(bucket.refunded, 0) AS refunded,
       extract(epoch FROM clock.at - bucket.oldest)::float8 AS oldest_secs,
       (SELECT json_agg(json_build_array(head.tenant, head.id, head.limits))
        FROM (
          SELECT r.tenant, r.id, r.limits FROM millrace.ready r WHERE r.waits_for = known.id
          ORDER BY r.priority DESC, r.scheduled_at, r.id LIMIT line.shown
        ) AS head)::text AS heads
FROM (SELECT clock_timestamp() AS at) AS clock, known LEFT JOIN bucket ON bucket.limit_id = known.id,
LATERAL (
  SELECT greatest(0, least(known.most - known.running, :max_jobs::int,
    ceil(known.rate_burst + :step_secs::float8 * known.rate_count / known.rate_secs)::int + 1)) + 1 AS shown
) AS line;

-- name: move_waiting
-- Writes what was decided: jobs leave their line for the queue (:places null) or for the line of another limit, and
-- limits are as given, plus one for each job that took room. A job that somebody else has locked, to cancel it, stays:
-- its line is looked at again. :looks: so are these. One that has left its line meanwhile is not locked: it may be in
-- its queue, and a claim would pass it over.
WITH asked AS MATERIALIZED (
  SELECT asked.id, asked.place AS waits_for, asked.line, r.at
  FROM unnest(:tenants::text[], :ids::uuid[], :places::uuid[], :lines::uuid[]) AS asked (tenant, id, place, line)
  LEFT JOIN LATERAL (
    SELECT r.ctid AS at FROM millrace.ready r
    WHERE r.tenant = asked.tenant AND r.id = asked.id AND r.waits_for IS NOT DISTINCT FROM asked.line
    OFFSET 0 FOR UPDATE SKIP LOCKED
  ) AS r ON true
), moved AS (
  UPDATE millrace.ready r
  SET later = CASE WHEN asked.waits_for IS NOT NULL THEN false END, waits_for = asked.waits_for
  FROM asked
  WHERE r.ctid = ANY (ARRAY(SELECT at FROM asked)) AND r.ctid = asked.at
  RETURNING r.scheduled_at, r.priority, r.queue, r.limits, r.waits_for
), taken AS MATERIALIZED (
  SELECT each.id, count(*)::int AS n FROM moved, unnest(moved.limits) AS each (id)
  WHERE moved.waits_for IS NULL GROUP BY each.id
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
    AND (l.running, l.most, l.newest, l.waiting) IS DISTINCT FROM
        (given.running + coalesce(taken.n, 0), given.most, given.newest, given.waiting OR missed.id IS NOT NULL)
), noted AS (
  INSERT INTO millrace.limit_notes (given_back, limit_id)
  SELECT 0, id FROM missed UNION SELECT 0, look.id FROM unnest(:looks::uuid[]) AS look (id)
  RETURNING limit_id
)
SELECT (SELECT json_agg(DISTINCT limit_id) FROM noted)::text AS looks,
       (SELECT json_agg(asked.id) FROM asked WHERE asked.at IS NULL)::text AS missed,
       (SELECT json_agg(json_build_array(admitted.queue, admitted.priority, admitted.n, admitted.since)) FROM (
          SELECT moved.queue, moved.priority, count(*)::int AS n,
                 (extract(epoch FROM min(moved.scheduled_at)) * 1000)::float8 AS since
          FROM moved WHERE moved.waits_for IS NULL GROUP BY moved.queue, moved.priority
        ) AS admitted)::text AS admitted;

-- name: wake_sleepers
-- Jobs with limits that have fallen due join the line of their first limit. Returns the limits to look at (those, and
-- :max_notes about which there are notes to act on, after :after; `noted_last`: where to go on, null if that was all),
-- how long it is until the next one falls due, whether limits are used at
-- all, whether jobs have expired, and whether there are any returns, notes, unique jobs, and queues with settings.
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
), note AS MATERIALIZED (
  SELECT n.limit_id FROM millrace.limit_notes n
  WHERE n.quiet IS NOT TRUE AND n.limit_id > :after::uuid ORDER BY n.limit_id LIMIT :max_notes::int
), next AS MATERIALIZED (
  SELECT r.scheduled_at FROM millrace.ready r
  WHERE NOT r.later AND r.waits_for IS NULL AND r.scheduled_at > now() ORDER BY r.scheduled_at, r.id LIMIT 1
)
SELECT (SELECT count(*) FROM gone)::int AS woken, (SELECT json_agg(DISTINCT limits[1]) FROM gone)::text AS limits,
       (SELECT json_agg(DISTINCT noted.limit_id) FROM (
          SELECT limit_id FROM note
          UNION ALL
          (SELECT l.id FROM millrace.limits l WHERE l.next_at <= now() ORDER BY l.next_at LIMIT :max_notes::int)
        ) AS noted)::text AS noted,
       (SELECT max(limit_id::text) FROM note HAVING count(*) = :max_notes::int) AS noted_last,
       (SELECT extract(epoch FROM scheduled_at - now()) * 1000 FROM next)::float8 AS next_ms,
       (SELECT EXISTS (SELECT FROM millrace.limits)) OR (SELECT EXISTS (SELECT FROM next)) AS in_use,
       (SELECT true FROM millrace.ready r WHERE r.expires_at <= now() ORDER BY r.expires_at LIMIT 1) IS TRUE AS expired,
       EXISTS (SELECT FROM millrace.limit_notes) OR EXISTS (SELECT FROM millrace.limit_returns) AS uncounted,
       EXISTS (SELECT FROM millrace.unique_keys) AS unique_used,
       EXISTS (SELECT FROM millrace.queue_limits) AS queues_limited;

-- name: count_in
-- Counts in quiet notes, :max_notes at most of those after :after, at limits that nobody else holds: where somebody is
-- in line, or with :all everywhere. `looks`: somebody waits there after all. `last`: where to go on; null if that was
-- all.
WITH walked AS MATERIALIZED (
  SELECT n.limit_id FROM millrace.limit_notes n
  WHERE n.limit_id > :after::uuid ORDER BY n.limit_id LIMIT :max_notes::int
), held AS MATERIALIZED (
  SELECT l.id FROM millrace.limits l
  WHERE l.id = ANY (ARRAY(SELECT limit_id FROM walked)) AND (:all::bool OR l.waiting)
  ORDER BY l.id FOR NO KEY UPDATE SKIP LOCKED
), note AS (
  DELETE FROM millrace.limit_notes n WHERE n.limit_id = ANY (ARRAY(SELECT id FROM held)) AND n.quiet
  RETURNING n.limit_id, n.given_back
), kept AS (
  UPDATE millrace.limits l SET running = l.running - told.given_back
  FROM (SELECT limit_id, sum(given_back)::int AS given_back FROM note GROUP BY limit_id) AS told
  WHERE l.id = ANY (ARRAY(SELECT id FROM held)) AND l.id = told.limit_id
  RETURNING l.id, l.waiting
), noted AS (
  INSERT INTO millrace.limit_notes (given_back, limit_id) SELECT 0, id FROM kept WHERE waiting
)
SELECT (SELECT json_agg(id) FROM kept WHERE waiting)::text AS looks,
       (SELECT max(limit_id::text) FROM walked HAVING count(*) = :max_notes::int) AS last;

-- name: gather_returns
-- Makes quiet notes of what :max_returns settlements returned: one for each limit, however many of them it was in. No
-- limit is locked for that: creates would find it held, and their jobs would join its line. `taken`: how many
-- settlements.
WITH taken AS (
  DELETE FROM millrace.limit_returns
  WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM millrace.limit_returns r LIMIT :max_returns::int FOR UPDATE SKIP LOCKED
  ))
  RETURNING limit_ids, counts
), told AS (
  SELECT each.id, sum(each.n)::int AS n FROM taken, unnest(taken.limit_ids, taken.counts) AS each (id, n)
  GROUP BY each.id
), noted AS (
  INSERT INTO millrace.limit_notes (given_back, limit_id, quiet) SELECT n, id, true FROM told
)
SELECT count(*)::int AS taken FROM taken;

-- name: drop_unused
-- Limits that nobody uses any more, :max_limits of those after :after. A limit with notes or with somebody in its line
-- is in use; if that begins while we look, the note brings the limit back (restore_limits).
WITH walked AS MATERIALIZED (
  SELECT l.id, l.running, l.waiting, l.full_at FROM millrace.limits l
  WHERE l.id > :after::uuid ORDER BY l.id LIMIT :max_limits::int
), unused AS MATERIALIZED (
  SELECT w.id FROM walked w WHERE w.running = 0 AND NOT w.waiting AND (w.full_at IS NULL OR w.full_at <= now())
), gone AS (
  DELETE FROM millrace.limits l WHERE l.id = ANY (ARRAY(
    SELECT held.id FROM unused, LATERAL (
      SELECT l.id FROM millrace.limits l
      WHERE l.id = unused.id AND l.running = 0 AND NOT l.waiting AND (l.full_at IS NULL OR l.full_at <= now())
        AND NOT EXISTS (SELECT FROM millrace.limit_tokens t WHERE t.limit_id = l.id)
      FOR UPDATE SKIP LOCKED
    ) AS held
  ))
  RETURNING 1
)
SELECT (SELECT count(*) FROM gone)::int AS dropped, (SELECT max(id::text) FROM walked) AS last,
       (SELECT count(*) FROM walked)::int AS walked;

-- name: keep_rates
-- The buckets of limits that this transaction holds, as domain/rates.ts left them at :now (the instant of read_lines),
-- and who was let in with a token. :tokens null: there is no rate any more. When to look next, and from when on the row
-- is not needed, count from the same instant.
WITH given AS MATERIALIZED (
  SELECT * FROM unnest(:ids::uuid[], :counts::int[], :secs::int[], :bursts::int[], :tokens::float8[],
                       :next_secs::float8[], :full_secs::float8[])
    AS given (id, count, secs, burst, tokens, next_secs, full_secs)
), kept AS (
  UPDATE millrace.limits l
  SET rate_count = given.count, rate_secs = given.secs, rate_burst = given.burst, tokens = given.tokens,
      refilled_at = CASE WHEN given.tokens IS NOT NULL THEN greatest(l.refilled_at, :now::timestamptz) END,
      next_at = :now::timestamptz + given.next_secs * interval '1 second',
      full_at = :now::timestamptz + given.full_secs * interval '1 second'
  FROM given WHERE l.id = ANY (:ids::uuid[]) AND l.id = given.id
)
INSERT INTO millrace.limit_tokens (admitted_at, limit_id, job_id, tenant)
SELECT :now::timestamptz, each.limit_id, each.job_id, each.tenant
FROM unnest(:token_limits::uuid[], :token_jobs::uuid[], :token_tenants::text[]) AS each (limit_id, job_id, tenant)
ON CONFLICT (limit_id, job_id) DO NOTHING;

-- name: forget_tokens
-- Of limits that have no rate any more.
DELETE FROM millrace.limit_tokens t WHERE t.limit_id = ANY (:ids::uuid[]);

-- fragment: numbers_of_each
-- What a job says of a limit (each.value): how many may run, how many may start, or both.
  SELECT (each.value ->> 'running')::int AS most, (each.value #>> '{rate,count}')::int AS rate_count,
         (each.value #>> '{rate,per_secs}')::int AS rate_secs,
         CASE WHEN json_typeof(each.value -> 'rate') = 'object'
              THEN coalesce((each.value #>> '{rate,burst}')::int, 1) END AS rate_burst
