-- Jobs with limits, an expiry or a unique key are created in a transaction: limits are taken, the server decides which
-- jobs are admitted (domain/limits.ts), and all of it is written.

-- name: take_keys
-- Idempotency keys of jobs, each with the id that its job would get. Returns those that were free. In sorted order,
-- like everybody who inserts keys. :lasts: true for the items of a batch, otherwise null.
INSERT INTO millrace.idempotency_keys (tenant, key, job_id, lasts, digest)
SELECT tenant, key, (millrace.id_prefix(now()) || suffix)::uuid, :lasts::bool, digest
FROM unnest(:tenants::text[], :keys::text[], :suffixes::text[], :digests::int8[]) AS given (tenant, key, suffix, digest)
ORDER BY tenant, key
ON CONFLICT (tenant, key) DO NOTHING
RETURNING job_id;

-- name: take_limits
-- Locks these limits, in order of id. One that somebody else has locked is left out: a create never waits for it. Room
-- that was given back is counted in: only whoever holds a limit takes up its notes, so that none is counted twice,
-- although this statement may have begun before the lock. Notes about jobs, and about limits with a rate, are left to
-- whoever looks at lines.
--
-- Where there is room for all the jobs that name a limit (:counts), nobody is in its line, and its numbers stay as they
-- are, that is all there is to decide, and they take their room here. Which job is the newest need not be kept then:
-- its numbers are those of the row. A count of zero says that there is more to it. Of the others the answer says what
-- they are like, in one row with an array in JSON per column: the numbers of their rows (`counted`) and of their notes
-- (`given_back`), and which have somebody in line, a rate, a note about a job (`named`). `absent`: those that are not
-- held; `missing`: those of them that do not exist.
WITH locked AS MATERIALIZED (
  SELECT l.id, l.running, l.most, l.waiting, l.rate_count IS NOT NULL AS rated FROM millrace.limits l
  WHERE l.id = ANY (:ids::uuid[]) ORDER BY l.id FOR NO KEY UPDATE SKIP LOCKED
), note AS (
  DELETE FROM millrace.limit_notes n
  WHERE n.limit_id = ANY (ARRAY(SELECT id FROM locked WHERE NOT rated)) AND n.job_id IS NULL
  RETURNING n.limit_id, n.given_back
), told AS MATERIALIZED (
  SELECT limit_id, sum(given_back)::int AS given_back FROM note GROUP BY limit_id
), named AS MATERIALIZED (
  SELECT DISTINCT n.limit_id FROM millrace.limit_notes n
  WHERE n.limit_id = ANY (ARRAY(SELECT id FROM locked)) AND n.quiet IS NOT TRUE AND n.job_id IS NOT NULL
), kept AS (
  UPDATE millrace.limits l SET running = l.running - coalesce(told.given_back, 0) + asked.jobs
  FROM unnest(:ids::uuid[], :mosts::int[], :counts::int[]) AS asked (id, most, jobs)
  LEFT JOIN told ON told.limit_id = asked.id
  WHERE l.id = ANY (ARRAY(SELECT id FROM locked)) AND l.id = asked.id
    AND asked.jobs > 0 AND l.rate_count IS NULL AND NOT l.waiting AND l.id <> ALL (ARRAY(SELECT limit_id FROM named))
    AND l.most = asked.most AND l.running - coalesce(told.given_back, 0) + asked.jobs <= asked.most
  RETURNING l.id
), rest AS (
  SELECT locked.*, coalesce(told.given_back, 0) AS given_back, named.limit_id IS NOT NULL AS named
  FROM locked LEFT JOIN told ON told.limit_id = locked.id LEFT JOIN named ON named.limit_id = locked.id
  WHERE (SELECT count(*) FROM kept) < (SELECT count(*) FROM locked) AND locked.id NOT IN (SELECT id FROM kept)
)
SELECT json_agg(id)::text AS ids, json_agg(running)::text AS counted, json_agg(most)::text AS mosts,
       json_agg(given_back)::text AS given_back, (json_agg(id) FILTER (WHERE rated))::text AS rated,
       (json_agg(id) FILTER (WHERE waiting))::text AS waiting, (json_agg(id) FILTER (WHERE named))::text AS named,
       away.absent::text, away.missing::text
FROM (
  SELECT json_agg(asked.id) AS absent, json_agg(asked.id) FILTER (WHERE l.found IS NULL) AS missing
  FROM unnest(:ids::uuid[]) AS asked (id) LEFT JOIN locked ON locked.id = asked.id
  LEFT JOIN LATERAL (
    SELECT true AS found FROM millrace.limits l WHERE l.id = asked.id OFFSET 0
  ) AS l ON true
  WHERE (SELECT count(*) FROM locked) < cardinality(:ids::uuid[]) AND locked.id IS NULL
) AS away LEFT JOIN rest ON true
GROUP BY away.absent::text, away.missing::text;

-- name: let_in
-- Lets in those who wait at limits that this transaction holds, where there is room (:rooms: for how many). A statement
-- after the one that took the lock: whoever joined a line before that is seen. `lines`, in JSON: how many came in, and
-- whether anybody is left. The row of a limit may say so long after the last one has left.
WITH open AS MATERIALIZED (
  SELECT * FROM unnest(:ids::uuid[], :rooms::int[]) AS open (id, n)
-- include: let_in_heads
)
SELECT (
  SELECT json_agg(json_build_array(open.id, coalesce(taken.n, 0), (
    SELECT count(*) FROM (SELECT FROM millrace.ready r WHERE r.waits_for = open.id LIMIT open.n + 1) AS waiting
  ) > coalesce(taken.n, 0))) FROM open LEFT JOIN taken ON taken.id = open.id
)::text AS lines,
-- include: admitted_in_json
AS admitted;

-- name: make_limits
-- Makes limits that did not exist. Returns those that nobody else has made meanwhile: they are ours.
INSERT INTO millrace.limits (most, id, tenant, queue, key)
SELECT most, id, tenant, queue, key
FROM unnest(:ids::uuid[], :tenants::text[], :queues::text[], :keys::text[], :mosts::int[])
  AS asked (id, tenant, queue, key, most)
ORDER BY id
ON CONFLICT (id) DO NOTHING
RETURNING id;

-- name: create_limited
-- Stores jobs that name limits, expire, are unique or have a parent. A child without limits has an empty array of
-- them, which only `ready` keeps: a claim looks for the parent of such a job, and does not bundle it. :waits_for: in
-- whose line each job waits; null if it is admitted. A job that is not due yet sleeps instead. :limit_ids to :waiting:
-- the limits that this transaction holds and changes, as they are from now on, each with the newest job that names it.
-- :noted_limits and :noted_suffixes: limits that were not to be had, and the job each should hear of. A job that
-- replaces another (unique.sql) has the whole id of that one as its suffix, and is due by :latest, if it waits at all;
-- it names its limits now, whenever the other one was created. :expire: some of the jobs do. What all of them have in
-- common, of :tenants to :priorities, is given once.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), input AS MATERIALIZED (
  SELECT right(clock.prefix || suffix, 32)::uuid AS id, clock.now, coalesce(tenant, (:tenants::text[])[1]) AS tenant,
         coalesce(queue, (:queues::text[])[1]) AS queue, coalesce(task, (:tasks::text[])[1]) AS task,
         coalesce(priority, (:priorities::int[])[1]) AS priority, config,
         CASE WHEN length(suffix) < 32 THEN wanted.at WHEN wanted.at IS NULL THEN clock.now
              ELSE least(wanted.at, latest) END AS run_at,
         payload, metadata, size, key, limits::uuid[] AS limits, waits_for, length(suffix) = 32 AS replaces
  FROM clock, unnest(:tenants::text[], :queues::text[], :tasks::text[], :priorities::int[], :configs::json[],
                     :suffixes::text[], :run_ats::timestamptz[], :payloads::json[], :metadata::json[], :sizes::int[],
                     :delays::int[], :keys::text[], :limits::text[], :waits_for::uuid[], :latest::timestamptz[])
    AS given (tenant, queue, task, priority, config, suffix, run_at, payload, metadata, size, delay, key, limits,
              waits_for, latest),
  LATERAL (SELECT coalesce(run_at, clock.now + delay * interval '1 second') AS at) AS wanted
), stored AS (
  INSERT INTO millrace.jobs (created_at, run_at, priority, id, tenant, queue, task, payload, config, metadata,
                             idempotency_key, limits)
  SELECT now, run_at, priority, id, tenant, queue, task, payload, config, metadata, key, nullif(limits, '{}')
  FROM input WHERE NOT replaces
), renewed AS (
  UPDATE millrace.jobs j
  SET run_at = input.run_at, priority = input.priority, task = input.task, payload = input.payload,
      config = input.config, metadata = input.metadata, limits = input.limits
  FROM input
  WHERE j.tenant = ANY (:tenants::text[]) AND j.id = ANY (ARRAY(SELECT id FROM input WHERE replaces))
    AND input.replaces AND j.tenant = input.tenant AND j.id = input.id
), queued AS (
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, later, size,
                              limits, waits_for, expires_at)
  SELECT coalesce(run_at, now), priority, 0, 0, id, tenant, queue,
         CASE WHEN waits_for IS NOT NULL OR cardinality(limits) > 0 AND run_at > now THEN false
              WHEN run_at > now THEN true END,
         size, limits, CASE WHEN run_at IS NULL OR run_at <= now THEN waits_for END,
         CASE WHEN :expire::bool THEN millrace.expiry(config, CASE WHEN replaces THEN (
           SELECT j.created_at FROM millrace.jobs j WHERE j.tenant = input.tenant AND j.id = input.id
         ) ELSE now END) END
  FROM input
), kept AS (
  UPDATE millrace.limits l
  SET running = given.running, most = given.most, waiting = given.waiting,
      newest = ((SELECT prefix FROM clock) || right(given.newest, 16))::uuid
  FROM unnest(:limit_ids::uuid[], :running::int[], :mosts::int[], :waiting::bool[], :newest_suffixes::text[])
    AS given (id, running, most, waiting, newest)
  WHERE l.id = ANY (:limit_ids::uuid[]) AND l.id = given.id
), noted AS (
  INSERT INTO millrace.limit_notes (given_back, limit_id, job_id, tenant, named)
  SELECT 0, given.limit_id, right((SELECT prefix FROM clock) || given.suffix, 32)::uuid, given.tenant,
         CASE WHEN length(given.suffix) = 32
              THEN ((SELECT prefix FROM clock) || right(given.suffix, 16))::uuid END
  FROM unnest(:noted_limits::uuid[], :noted_suffixes::text[], :noted_tenants::text[])
    AS given (limit_id, suffix, tenant)
), seen AS (
  INSERT INTO millrace.transitions (at, scheduled_at, retry_count, delivery_count, status, job_id)
  SELECT now, run_at, 0, 0, 'pending', id
  FROM input, LATERAL (SELECT FROM millrace.watches w WHERE w.job_id = input.id LIMIT 1) AS watched WHERE replaces
  RETURNING 1
)
SELECT prefix, (SELECT count(*) FROM seen)::int AS watched FROM clock;
