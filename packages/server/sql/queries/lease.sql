-- Plans. Each of these statements runs under a single plan, made once, whatever the tables contain at that moment. So
-- its shape must leave the planner no choice: a row that is looked up by key is in a LATERAL subquery with OFFSET 0
-- (which can only become a loop over an index), and a row that is changed is found by `= ANY (ids)` and then
-- hash-joined with the input. See HOT_SETTINGS in src/store/connection/session.ts.

-- name: claim
-- Takes the first due jobs of a queue (at most $7 of them), skipping those that other claims have locked, and leases
-- the k-th job under the k-th token ($4) for the k-th number of seconds ($5). If there is a bundle token ($6), the
-- plain jobs of a tenant (never delivered, no error, no workflow) share a bundle under it if there are at least four;
-- then $4 may be null, as most tokens would go unused: the k-th is the bundle token with k in its last two bytes, and
-- one number of seconds is enough.
-- Due jobs are in two places. Most are in claim order: that takes one walk along one index, however many priorities
-- there are, or, if floors are given ($2 and $3), one walk per priority from its floor. Jobs that were not due when
-- they were written are apart from that, ordered by time ($9 is the floor there). The statement sorts both together.
-- Jobs of the second kind that have fallen due but are not taken move into claim order. It looks at up to a hundred of
-- them even if $7 is smaller, so that claims of one job do not keep a high-priority job waiting behind many that fell
-- due before it.
-- A claim returns at most $8 bytes of jobs, but always the first job. `cut` says that the byte limit ended it and more
-- jobs are due. Jobs that were locked but not taken are unlocked at the commit.
-- The answer is a single row, because unpacking hundreds of rows costs the server more than the claim itself. It has
-- one array per column, in claim order, with caller JSON as text. Fields that most jobs do not have (`optional_fields`)
-- are given by name, only for the jobs that have them. A time that is already in the id is not repeated, nor is the
-- tenant if the plain jobs of one tenant are all there is. Payloads are concatenated, separated by a character that
-- cannot occur in JSON text, so the answer is as long as the stored text, whatever that contains. Contexts that are
-- stored apart are returned in the same way, each once, however many of the jobs name it; towards $8 a context counts
-- once per job. Those that the process knows already ($12: workflow and version) are left out. RETURNING keeps no
-- order, hence the numbering.
-- $11 names the worker of each slot, or the pool. A remote worker's lease also says queue and task, for its report: so
-- its jobs are read first (`job`), and once.
-- A pool may start the first $10 jobs at once, or only those before the first job that was lost with its process
-- earlier. If the claim has more jobs than that, a mark says how far the pool may start
-- (docs/adr/0016-unstarted-jobs.md).
-- A paused queue yields nothing: none of the walks begins.
-- If all are plain jobs of one tenant (`mixed` is false), nothing is looked for that such jobs do not have.
WITH pause AS MATERIALIZED (
  SELECT EXISTS (SELECT FROM millrace.queues q WHERE q.queue = $1 AND q.paused_at IS NOT NULL) AS paused
), floor AS MATERIALIZED (
  SELECT * FROM unnest($2::int[], $3::timestamptz[]) AS given (priority, since)
), fell_due AS MATERIALIZED (
  SELECT r.ctid AS place, r.priority, r.scheduled_at, r.retry_count, r.delivery_count, r.id, r.tenant, r.workflow_id,
         r.error, r.size, true AS later
  FROM millrace.ready r
  WHERE r.queue = $1 AND r.later AND r.scheduled_at >= $9::timestamptz AND r.scheduled_at <= now()
    AND NOT (SELECT paused FROM pause)
  ORDER BY r.scheduled_at, r.id
  LIMIT greatest($7::int, 100)
  FOR UPDATE SKIP LOCKED
), due AS MATERIALIZED (
  SELECT row_number() OVER (ORDER BY priority DESC, scheduled_at, id) AS n, found.*
  FROM (
    SELECT * FROM (
      SELECT r.ctid AS place, r.priority, r.scheduled_at, r.retry_count, r.delivery_count, r.id, r.tenant,
             r.workflow_id, r.error, r.size, false AS later
      FROM millrace.ready r
      WHERE r.queue = $1 AND r.later IS NULL AND r.scheduled_at <= now() AND $2::int[] IS NULL
        AND NOT (SELECT paused FROM pause)
      ORDER BY r.priority DESC, r.scheduled_at, r.id
      LIMIT $7::int
      FOR UPDATE SKIP LOCKED
    ) AS in_order
    UNION ALL
    SELECT * FROM (
      SELECT ahead.*
      FROM (SELECT * FROM floor ORDER BY priority DESC) AS floor,
      LATERAL (
        SELECT r.ctid AS place, r.priority, r.scheduled_at, r.retry_count, r.delivery_count, r.id, r.tenant,
               r.workflow_id, r.error, r.size, false AS later
        FROM millrace.ready r
        WHERE r.queue = $1 AND r.later IS NULL AND r.priority = floor.priority
          AND r.scheduled_at >= floor.since AND r.scheduled_at <= now() AND NOT (SELECT paused FROM pause)
        ORDER BY r.scheduled_at, r.id
        LIMIT $7::int
        FOR UPDATE SKIP LOCKED
      ) AS ahead
      LIMIT $7::int
    ) AS from_floors
    UNION ALL
    SELECT * FROM fell_due
  ) AS found
), too_much AS MATERIALIZED (
  SELECT min(n) AS n
  FROM (SELECT n, sum(size) OVER (ORDER BY n) AS bytes FROM due WHERE size IS NOT NULL) AS large
  WHERE bytes > $8::bigint AND n > 1 AND n <= $7::int
), claimed AS MATERIALIZED (
  SELECT n, place, priority, scheduled_at, retry_count, delivery_count, id, tenant, workflow_id, error,
         $6::uuid IS NOT NULL AND retry_count = 0 AND delivery_count = 0 AND workflow_id IS NULL AND error IS NULL
           AS plain
  FROM due
  WHERE n <= $7::int AND n < coalesce((SELECT n FROM too_much), 2147483647)
), gone AS (
  DELETE FROM millrace.ready WHERE ctid = ANY (ARRAY(SELECT place FROM claimed))
), fallen AS (
  DELETE FROM millrace.ready
  WHERE ctid = ANY (ARRAY(
    SELECT place FROM due
    WHERE EXISTS (SELECT FROM fell_due) AND later AND n > (SELECT count(*) FROM claimed)
  ))
  RETURNING scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue, workflow_id, error, size
), moved AS (
  INSERT INTO millrace.ready (scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue,
                              workflow_id, error, size)
  SELECT scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue, workflow_id, error, size
  FROM fallen
  RETURNING priority, scheduled_at
), startable AS MATERIALIZED (
  SELECT count(*)::int AS size,
         least($10::int, coalesce(min(n) FILTER (WHERE NOT plain AND error = 'lease expired') - 1, $10::int))::int
           AS reach,
         bool_or(NOT plain OR tenant <> (SELECT tenant FROM claimed LIMIT 1)) AS mixed
  FROM claimed
), mark AS (
  INSERT INTO millrace.claim_marks (claimed_at, reach, token)
  SELECT now(), reach, $6 FROM startable WHERE $6 IS NOT NULL AND reach < size
), bundle AS (
  INSERT INTO millrace.bundles (locked_until, started_at, first_id, last_id, token, tenant, queue, open, taken, ids,
                                numbers, worker)
  SELECT now() + ($5::int[])[1] * interval '1 second', now(), sorted[1], sorted[n], $6, tenant, $1,
         repeat('1', n)::varbit, '', ids, numbers, ($11::text[])[1]
  FROM (
    SELECT tenant, count(*)::int AS n, array_agg(id ORDER BY id) AS sorted, array_agg(id ORDER BY n) AS ids,
           array_agg(n::smallint ORDER BY n) FILTER (WHERE (SELECT mixed FROM startable)) AS numbers
    FROM claimed WHERE plain GROUP BY tenant HAVING count(*) >= 4
  ) AS many
  RETURNING tenant
), alone AS MATERIALIZED (
  SELECT * FROM claimed
  WHERE (SELECT mixed OR size < 4 FROM startable)
    AND (NOT plain OR tenant <> ALL (ARRAY(SELECT tenant FROM bundle)))
), job AS MATERIALIZED (
  SELECT c.n, c.id, c.tenant, c.retry_count, c.delivery_count, c.scheduled_at, c.error, j.task, j.payload, j.config,
         j.metadata, j.created_at, j.idempotency_key, j.workflow_id, j.step, j.context
  FROM (SELECT * FROM claimed ORDER BY n) AS c,
  LATERAL (SELECT * FROM millrace.jobs j WHERE j.tenant = c.tenant AND j.id = c.id OFFSET 0) AS j
  WHERE $6 IS NULL
), held AS (
  INSERT INTO millrace.leases (locked_until, started_at, scheduled_at, retry_count, delivery_count, id, token, tenant,
                               workflow_id, error, worker, queue, task)
  SELECT now() + coalesce(($5::int[])[n], ($5::int[])[1]) * interval '1 second', now(),
         CASE WHEN delivery_count > 0 THEN scheduled_at END, retry_count, delivery_count + 1, id,
         coalesce(($4::uuid[])[n], (left($6::text, 32) || lpad(to_hex(n), 4, '0'))::uuid), tenant, workflow_id, error,
         ($11::text[])[CASE WHEN $6 IS NULL THEN n ELSE 1 END], CASE WHEN $6 IS NULL THEN $1 END, task
  FROM (
    SELECT n, scheduled_at, retry_count, delivery_count, id, tenant, workflow_id, error, task FROM job
    UNION ALL
    SELECT n, scheduled_at, retry_count, delivery_count, id, tenant, workflow_id, error, NULL::text FROM alone
    WHERE $6 IS NOT NULL
  ) AS lease
), seen AS (
  INSERT INTO millrace.transitions (at, scheduled_at, started_at, retry_count, delivery_count, status, job_id, error,
                                    locked_until, worker)
  SELECT now(), CASE WHEN delivery_count > 0 THEN scheduled_at END, now(), retry_count, delivery_count + 1, 'running',
         id, error, now() + coalesce(($5::int[])[n], ($5::int[])[1]) * interval '1 second',
         ($11::text[])[CASE WHEN $6 IS NULL THEN n ELSE 1 END]
  FROM claimed
  WHERE (SELECT EXISTS (SELECT FROM millrace.watches))
    AND EXISTS (SELECT FROM millrace.watches w WHERE w.job_id = claimed.id)
  RETURNING 1
), context AS MATERIALIZED (
  SELECT stored.* FROM (
    SELECT DISTINCT j.workflow_id, j.context AS version
    FROM claimed c, LATERAL (
      SELECT j.workflow_id, j.context FROM millrace.jobs j
      WHERE j.tenant = c.tenant AND j.id = c.id AND j.context IS NOT NULL OFFSET 0
    ) AS j
    WHERE (SELECT mixed FROM startable) AND c.workflow_id IS NOT NULL
      AND ($12::text[] IS NULL OR j.workflow_id || '/' || j.context <> ALL ($12::text[]))
  ) AS named, LATERAL (
    SELECT x.* FROM millrace.workflow_contexts x
    WHERE x.workflow_id = named.workflow_id AND x.version = named.version OFFSET 0
  ) AS stored
)
SELECT
  (SELECT count(*) FROM seen)::int AS watched,
  now()::text AS now,
  (SELECT n IS NOT NULL FROM too_much) AS cut,
  (SELECT extract(epoch FROM max(scheduled_at)) * 1000 FROM fell_due)::float8 AS fell_due_up_to,
  (SELECT json_agg(json_build_object('priority', priority, 'since', since)) FROM (
     SELECT priority, (extract(epoch FROM min(scheduled_at)) * 1000)::float8 AS since FROM moved GROUP BY priority
   ) AS priorities)::text AS moved,
  (SELECT json_agg(n) FROM alone WHERE $6 IS NOT NULL)::text AS alone,
  string_agg(c.id::text, ',') AS ids,
  (json_agg(c.tenant) FILTER (WHERE c.n = 1 OR (SELECT mixed FROM startable)))::text AS tenants,
  json_agg(c.task)::text AS tasks,
  string_agg(c.payload::text, chr(1)) AS payloads,
  (json_agg(fields) FILTER (
    WHERE c.config IS NOT NULL OR c.metadata IS NOT NULL OR c.delivery_count > 0 OR c.scheduled_at <> c.created_at
       OR c.idempotency_key IS NOT NULL OR c.workflow_id IS NOT NULL
  ))::text AS optional_fields,
  (SELECT json_agg(json_build_object('workflow_id', workflow_id, 'version', version) ORDER BY workflow_id, version)
   FROM context)::text AS context_keys,
  (SELECT string_agg(context::text, chr(1) ORDER BY workflow_id, version) FROM context) AS contexts
FROM (
  SELECT * FROM job
  UNION ALL
  SELECT c.n, c.id, c.tenant, c.retry_count, c.delivery_count, c.scheduled_at, c.error, j.task, j.payload, j.config,
         j.metadata, j.created_at, j.idempotency_key, j.workflow_id, j.step, j.context
  FROM (SELECT * FROM claimed ORDER BY n) AS c,
  LATERAL (SELECT * FROM millrace.jobs j WHERE j.tenant = c.tenant AND j.id = c.id OFFSET 0) AS j
  WHERE $6 IS NOT NULL
) AS c, LATERAL (
  SELECT c.n, c.config, c.metadata::text AS metadata, c.retry_count, c.delivery_count + 1 AS delivery_count,
         CASE WHEN c.scheduled_at <> c.created_at THEN c.scheduled_at::text END AS scheduled_at,
         c.error, c.idempotency_key, c.workflow_id, c.step, c.context
) AS fields;

-- name: next_due
-- How long until the first job of each of these queues falls due: waiting claims set their timers by this. Queues with
-- no waiting jobs are left out, and so are paused ones: whoever waits there is woken when they are resumed. Every job
-- in claim order is due, except those that a server of an earlier version may have put there in the meantime.
SELECT asked.queue, extract(epoch FROM least(first.scheduled_at, next.scheduled_at) - now())::float8 AS secs
FROM unnest($1::text[]) AS asked (queue)
LEFT JOIN LATERAL (
  SELECT r.scheduled_at FROM millrace.ready r
  WHERE r.queue = asked.queue AND r.later IS NULL ORDER BY r.priority DESC, r.scheduled_at, r.id LIMIT 1
) AS first ON true
LEFT JOIN LATERAL (
  SELECT r.scheduled_at FROM millrace.ready r
  WHERE r.queue = asked.queue AND r.later ORDER BY r.scheduled_at, r.id LIMIT 1
) AS next ON true
LEFT JOIN LATERAL (
  SELECT q.paused_at FROM millrace.queues q WHERE q.queue = asked.queue OFFSET 0
) AS known ON true
WHERE (first.scheduled_at IS NOT NULL OR next.scheduled_at IS NOT NULL) AND known.paused_at IS NULL;

-- name: extend
-- A heartbeat, for any number of leases: the new deadline counts from now and may be earlier than the old one.
UPDATE millrace.leases l
SET locked_until = now() + beat.secs * interval '1 second'
FROM unnest($1::uuid[], $2::uuid[], $3::int[]) AS beat (id, token, secs)
WHERE l.id = ANY ($1::uuid[]) AND l.id = beat.id AND l.token = beat.token
RETURNING l.id, l.token, l.tenant, l.worker, l.queue;

-- name: extend_with_progress
-- The same where some of them report how far they are. A lease is named once at most. `watched`: an event stream
-- follows a job of which there is news.
WITH beat AS MATERIALIZED (
  SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::json[]) AS beat (id, token, secs, progress)
), extended AS (
  UPDATE millrace.leases l
  SET locked_until = now() + beat.secs * interval '1 second'
  FROM beat
  WHERE l.id = ANY ($1::uuid[]) AND l.id = beat.id AND l.token = beat.token
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
FROM unnest($1::uuid[], $2::uuid[]) AS mine (id, token),
LATERAL (SELECT l.id, l.token FROM millrace.leases l WHERE l.id = mine.id AND l.token = mine.token OFFSET 0) AS l;

-- name: unbundle
-- Moves jobs out of their bundles, each to a lease of its own under the same token and deadline. Nothing else about
-- them changes. A null token means whichever bundle holds the job. Here and in settle_bundled, statements lock bundles
-- in the order of their key; otherwise two of them could deadlock.
WITH given AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::uuid[], $3::uuid[]) AS given (tenant, id, token)
), wanted AS MATERIALIZED (
  SELECT b.token, b.tenant, array_agg(given.id) AS ids,
         bit_or(set_bit(repeat('0', length(b.open))::varbit, array_position(b.ids, given.id) - 1, 1)) AS mask
  FROM millrace.bundles b, given
  WHERE b.tenant = given.tenant AND (b.token = given.token OR given.token IS NULL)
    AND given.id BETWEEN b.first_id AND b.last_id AND get_bit(b.open, array_position(b.ids, given.id) - 1) = 1
  GROUP BY b.token, b.tenant
), locked AS MATERIALIZED (
  SELECT b.token FROM millrace.bundles b JOIN wanted ON wanted.token = b.token AND wanted.tenant = b.tenant
  WHERE b.token = ANY (ARRAY(SELECT token FROM wanted))
  ORDER BY b.token, b.tenant
  FOR UPDATE OF b
), loosened AS (
  UPDATE millrace.bundles b
  SET taken = b.open & wanted.mask, open = b.open & ~wanted.mask
  FROM wanted
  WHERE b.token = ANY (ARRAY(SELECT token FROM locked)) AND b.token = wanted.token AND b.tenant = wanted.tenant
  RETURNING b.tenant, b.token, b.locked_until, b.started_at, b.taken, b.ids, b.worker
)
INSERT INTO millrace.leases (locked_until, started_at, retry_count, delivery_count, id, token, tenant, worker)
SELECT b.locked_until, b.started_at, 0, 1, member.id, b.token, b.tenant, b.worker
FROM loosened b, unnest(b.ids) WITH ORDINALITY AS member (id, n)
WHERE get_bit(b.taken, member.n::int - 1) = 1
RETURNING id;

-- name: extend_bundles
-- A heartbeat for bundles; returns which of their jobs are still in them. The index returns the rows in the order of
-- their key, which is the order in which bundles are locked.
UPDATE millrace.bundles SET locked_until = now() + $2 * interval '1 second'
WHERE token = ANY ($1::uuid[])
RETURNING token, tenant, worker, queue, open::text;

-- name: move_marks
-- Sets how far into its claims the pool may start from now on ($1 and $2), and deletes marks that are no longer needed
-- ($3) because every job of their claim may have been started. Nearly always settle_bundled does this along with its
-- own work.
WITH moved AS (
  UPDATE millrace.claim_marks m SET reach = given.reach
  FROM unnest($1::uuid[], $2::int[]) AS given (token, reach)
  WHERE m.token = ANY ($1::uuid[]) AND m.token = given.token
)
DELETE FROM millrace.claim_marks WHERE token = ANY ($3::uuid[]);

-- name: standing_bundles
SELECT token, tenant, open::text FROM millrace.bundles WHERE token = ANY ($1::uuid[]);

-- name: lease_facts
-- What the failure policy needs to know. It cannot change while the lease exists under this token, so the settlement
-- that follows, fenced by the same token, may rely on it without a transaction around both.
SELECT l.id, l.retry_count, j.config
FROM unnest($1::uuid[], $2::uuid[]) AS mine (id, token),
LATERAL (SELECT * FROM millrace.leases l WHERE l.id = mine.id AND l.token = mine.token OFFSET 0) AS l,
LATERAL (SELECT j.config FROM millrace.jobs j WHERE j.tenant = l.tenant AND j.id = l.id OFFSET 0) AS j;

-- name: statuses_of
-- The state of jobs known only by their ids: for reports that found no lease. Ids that name no job are left out.
SELECT asked.id, rec.status
FROM unnest($1::uuid[], $2::int[]) AS asked (id, bucket),
LATERAL (SELECT t.tenant FROM millrace.tenants t WHERE t.bucket = asked.bucket OFFSET 0) AS t,
LATERAL (SELECT r.status FROM millrace.job_records r WHERE r.tenant = t.tenant AND r.id = asked.id OFFSET 0) AS rec;

-- name: queues_of
-- The queues of jobs known only by their ids: for worker tokens that are limited to some queues. Ids that name no job
-- are left out.
SELECT asked.id, j.queue
FROM unnest($1::uuid[], $2::int[]) AS asked (id, bucket),
LATERAL (SELECT t.tenant FROM millrace.tenants t WHERE t.bucket = asked.bucket OFFSET 0) AS t,
LATERAL (SELECT j.queue FROM millrace.jobs j WHERE j.tenant = t.tenant AND j.id = asked.id OFFSET 0) AS j;

-- name: expired
-- Running jobs past their deadline, oldest deadline first. These are only candidates: the settlement checks the token
-- and the deadline again. `started` is false only if the pool that claimed the job demonstrably did not start it.
SELECT l.tenant, l.id, l.token, l.bundled, l.retry_count, j.config,
       NOT EXISTS (SELECT FROM millrace.claim_marks m WHERE m.token = l.claim AND l.number > m.reach) AS started
FROM (
  SELECT * FROM (
    SELECT l.tenant, l.id, l.token, false AS bundled, l.retry_count, l.locked_until,
           (left(l.token::text, 32) || '0000')::uuid AS claim, ('x' || right(l.token::text, 4))::bit(16)::int AS number
    FROM millrace.leases l
    UNION ALL
    SELECT b.tenant, member.id, b.token, true, 0, b.locked_until, b.token, coalesce(b.numbers[member.n], member.n)
    FROM millrace.bundles b, unnest(b.ids) WITH ORDINALITY AS member (id, n)
    WHERE get_bit(b.open, member.n::int - 1) = 1
  ) AS running
  WHERE locked_until < now() ORDER BY locked_until LIMIT $1
) AS l,
LATERAL (SELECT j.config FROM millrace.jobs j WHERE j.tenant = l.tenant AND j.id = l.id OFFSET 0) AS j;
