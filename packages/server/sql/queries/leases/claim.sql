-- Claiming: the only way into `running`. The pool and remote workers claim the same jobs in the same order; what they
-- hold differs, and so does what they have to be told. A claim through the gate of a queue (gates.sql) is part of a
-- transaction that may have waited: so jobs start, and are held, as of statement_timestamp(), which elsewhere is now().

-- name: claim_for_pool
-- Claims for a process's own pool. The plain jobs of a tenant (never delivered, no error, no workflow, no parent) share
-- a bundle under the token :bundle if there are at least :bundle_from. Every other job has its own lease: the token of
-- the k-th job is the bundle's with k in its last two bytes. `alone` lists their numbers. A pool may start the first
-- :startable jobs at once, or only those before the first job that was lost with its process earlier. If the claim has
-- more jobs than that, a mark says how far the pool may start (docs/adr/0016-unstarted-jobs.md). If all are plain jobs
-- of one tenant (`mixed` is false), nothing is looked for that such jobs do not have, and the tenant is given once.
WITH pause AS MATERIALIZED (
-- include: pause
), floor AS MATERIALIZED (
-- include: floors
), fell_due AS MATERIALIZED (
-- include: jobs_that_fell_due
), due AS MATERIALIZED (
-- include: due_jobs
-- include: hold_for_pool

-- name: claim_for_workers
-- Claims for callers, one job each: leases the k-th job under the k-th of :tokens for the k-th of :secs to the k-th of
-- :workers (null if nobody gave a name). The lease also says queue and task, for the report: so the jobs are read first
-- (`job`), and once.
WITH pause AS MATERIALIZED (
-- include: pause
), floor AS MATERIALIZED (
-- include: floors
), fell_due AS MATERIALIZED (
-- include: jobs_that_fell_due
), due AS MATERIALIZED (
-- include: due_jobs
-- include: hold_for_workers

-- fragment: hold_for_pool
-- What becomes of the due jobs if the pool claims them.
), too_much AS MATERIALIZED (
-- include: first_beyond_max_bytes
), child AS MATERIALIZED (
  SELECT c.child_id FROM millrace.children c
  WHERE c.child_id = ANY (ARRAY(SELECT due.id FROM due WHERE due.limits IS NOT NULL))
), claimed AS MATERIALIZED (
  SELECT n, place, priority, scheduled_at, retry_count, delivery_count, id, tenant, workflow_id, error,
         retry_count = 0 AND delivery_count = 0 AND workflow_id IS NULL AND error IS NULL AND child.child_id IS NULL
           AS plain
  FROM due LEFT JOIN child ON child.child_id = due.id
  WHERE n <= :max_jobs::int AND n < coalesce((SELECT n FROM too_much), 2147483647)
), gone AS (
-- include: take_claimed
), fallen AS (
-- include: take_fallen
), moved AS (
-- include: move_fallen
), startable AS MATERIALIZED (
  SELECT count(*)::int AS size,
         least(:startable::int, min(n) FILTER (WHERE NOT plain AND error = 'lease expired') - 1)::int AS reach,
         bool_or(NOT plain OR tenant <> (SELECT tenant FROM claimed LIMIT 1)) AS mixed
  FROM claimed
), mark AS (
  INSERT INTO millrace.claim_marks (claimed_at, reach, token)
  SELECT statement_timestamp(), reach, :bundle FROM startable WHERE reach < size
), bundle AS (
  INSERT INTO millrace.bundles (locked_until, started_at, first_id, last_id, token, tenant, queue, open, taken, ids,
                                numbers, worker)
  SELECT statement_timestamp() + :secs::int * interval '1 second', statement_timestamp(), sorted[1], sorted[n],
         :bundle, tenant, :queue, repeat('1', n)::varbit, '', ids, numbers, :worker::text
  FROM (
    SELECT tenant, count(*)::int AS n, array_agg(id ORDER BY id) AS sorted, array_agg(id ORDER BY n) AS ids,
           array_agg(n::smallint ORDER BY n) FILTER (WHERE (SELECT mixed FROM startable)) AS numbers
    FROM claimed WHERE plain GROUP BY tenant HAVING count(*) >= :bundle_from::int
  ) AS many
  RETURNING tenant
), alone AS MATERIALIZED (
  SELECT * FROM claimed
  WHERE (SELECT mixed OR size < :bundle_from::int FROM startable)
    AND (NOT plain OR tenant <> ALL (ARRAY(SELECT tenant FROM bundle)))
), held AS (
  INSERT INTO millrace.leases (locked_until, started_at, scheduled_at, retry_count, delivery_count, id, token, tenant,
                               workflow_id, error, worker, queue)
  SELECT statement_timestamp() + :secs::int * interval '1 second', statement_timestamp(),
         CASE WHEN delivery_count > 0 THEN scheduled_at END, retry_count, delivery_count + 1, id,
         (left(:bundle::text, 32) || lpad(to_hex(n), 4, '0'))::uuid, tenant, workflow_id, error, :worker::text,
         CASE WHEN :gate_held::bool THEN :queue END
  FROM alone
), seen AS (
  INSERT INTO millrace.transitions (at, scheduled_at, started_at, retry_count, delivery_count, status, job_id, error,
                                    locked_until, worker)
  SELECT statement_timestamp(), CASE WHEN delivery_count > 0 THEN scheduled_at END, statement_timestamp(), retry_count,
         delivery_count + 1, 'running', id, error, statement_timestamp() + :secs::int * interval '1 second',
         :worker::text
  FROM claimed
-- include: that_is_watched
), named AS MATERIALIZED (
  SELECT DISTINCT j.workflow_id, j.context AS version
  FROM claimed c, LATERAL (
    SELECT j.workflow_id, j.context FROM millrace.jobs j
    WHERE j.tenant = c.tenant AND j.id = c.id AND j.context IS NOT NULL OFFSET 0
  ) AS j
  WHERE (SELECT mixed FROM startable) AND c.workflow_id IS NOT NULL
), context AS MATERIALIZED (
-- include: unknown_contexts
)
SELECT
  (SELECT json_agg(n) FROM alone)::text AS alone,
  (json_agg(c.tenant) FILTER (WHERE c.n = 1 OR (SELECT mixed FROM startable)))::text AS tenants,
-- include: answer
FROM (
-- include: whole_jobs
) AS c, LATERAL (
-- include: fields_of_c
) AS fields;

-- fragment: hold_for_workers
-- The same if workers do.
), too_much AS MATERIALIZED (
-- include: first_beyond_max_bytes
), claimed AS MATERIALIZED (
  SELECT n, place, priority, scheduled_at, retry_count, delivery_count, id, tenant, workflow_id, error
  FROM due
  WHERE n <= :max_jobs::int AND n < coalesce((SELECT n FROM too_much), 2147483647)
), gone AS (
-- include: take_claimed
), fallen AS (
-- include: take_fallen
), moved AS (
-- include: move_fallen
), job AS MATERIALIZED (
-- include: whole_jobs
), held AS (
  INSERT INTO millrace.leases (locked_until, started_at, scheduled_at, retry_count, delivery_count, id, token, tenant,
                               workflow_id, error, worker, queue, task)
  SELECT statement_timestamp() + (:secs::int[])[n] * interval '1 second', statement_timestamp(),
         CASE WHEN delivery_count > 0 THEN scheduled_at END, retry_count, delivery_count + 1, id, (:tokens::uuid[])[n],
         tenant, workflow_id, error, (:workers::text[])[n], :queue, task
  FROM job
), seen AS (
  INSERT INTO millrace.transitions (at, scheduled_at, started_at, retry_count, delivery_count, status, job_id, error,
                                    locked_until, worker)
  SELECT statement_timestamp(), CASE WHEN delivery_count > 0 THEN scheduled_at END, statement_timestamp(), retry_count,
         delivery_count + 1, 'running', id, error, statement_timestamp() + (:secs::int[])[n] * interval '1 second',
         (:workers::text[])[n]
  FROM claimed
-- include: that_is_watched
), named AS MATERIALIZED (
  SELECT DISTINCT workflow_id, context AS version FROM job WHERE context IS NOT NULL
), context AS MATERIALIZED (
-- include: unknown_contexts
)
SELECT
  json_agg(c.tenant)::text AS tenants,
-- include: answer
FROM job AS c, LATERAL (
-- include: fields_of_c
) AS fields;

-- fragment: turns_of_queue
-- Whose turn it is, from the line after the one that was served last (`gate`) round to it, up to :max_lines of them,
-- and how many jobs each is given (`allotted`): :at_a_time of each before the next one's, until there are :max_jobs.
-- Each line is found by a probe of the index, however long the one before it is. Those who are in no line have a seat
-- as one group (null), after the last line. Lines are counted as far as it matters: if they come to too few jobs, those
-- that have more than was counted make up for it.
), span AS MATERIALIZED (
  SELECT (half || repeat('0', 16))::uuid AS before, (half || repeat('f', 16))::uuid AS last
  FROM left(md5(:queue), 16) AS half WHERE NOT (SELECT paused FROM pause)
), ahead AS (
  SELECT first.line, 1 AS n FROM span, LATERAL (
    SELECT r.waits_for AS line FROM millrace.ready r
    WHERE r.waits_for > coalesce((SELECT turn FROM gate), span.before) AND r.waits_for <= span.last
    ORDER BY r.waits_for LIMIT 1
  ) AS first
  UNION ALL
  SELECT next.line, ahead.n + 1 FROM ahead, LATERAL (
    SELECT r.waits_for AS line FROM millrace.ready r
    WHERE r.waits_for > ahead.line AND r.waits_for <= (SELECT last FROM span)
    ORDER BY r.waits_for LIMIT 1
  ) AS next
  WHERE ahead.n < :max_lines::int
), behind AS (
  SELECT first.line, 1 AS n FROM span, LATERAL (
    SELECT r.waits_for AS line FROM millrace.ready r
    WHERE r.waits_for > span.before AND r.waits_for <= (SELECT turn FROM gate)
      AND (SELECT count(*) FROM ahead) < :max_lines::int
    ORDER BY r.waits_for LIMIT 1
  ) AS first
  UNION ALL
  SELECT next.line, behind.n + 1 FROM behind, LATERAL (
    SELECT r.waits_for AS line FROM millrace.ready r
    WHERE r.waits_for > behind.line AND r.waits_for <= (SELECT turn FROM gate)
    ORDER BY r.waits_for LIMIT 1
  ) AS next
  WHERE behind.n < :max_lines::int
), line AS MATERIALIZED (
  SELECT line, 0 AS part, n FROM ahead UNION ALL SELECT line, 2, n FROM behind
), rest AS MATERIALIZED (
  SELECT EXISTS (SELECT FROM fell_due) OR (
    SELECT true FROM millrace.ready r
    WHERE r.queue = :queue AND r.later IS NULL AND r.scheduled_at <= now() AND NOT (SELECT paused FROM pause)
    ORDER BY r.priority DESC, r.scheduled_at, r.id LIMIT 1
  ) IS TRUE AS waits
), part AS MATERIALIZED (
  SELECT CASE WHEN served.n > 1 THEN 2 * ceil(:max_jobs::float8 / served.n)::int END AS most
  FROM (SELECT count(*) + (SELECT waits::int FROM rest) AS n FROM line) AS served
), counted AS MATERIALIZED (
  SELECT line.line, line.part, line.n, CASE WHEN part.most IS NULL THEN :max_jobs::int ELSE (
    SELECT count(*) FROM (
      SELECT FROM millrace.ready r WHERE r.waits_for = line.line LIMIT part.most
    ) AS waiting
  ) END::int AS waiting
  FROM line, part
  UNION ALL
  SELECT NULL, 1, 1, CASE WHEN part.most IS NULL THEN :max_jobs::int ELSE least(part.most, (
    SELECT count(*) FROM fell_due
  ) + (
    SELECT count(*) FROM (
      SELECT FROM millrace.ready r WHERE r.queue = :queue AND r.later IS NULL AND r.scheduled_at <= now()
      LIMIT part.most
    ) AS waiting
  )) END::int
  FROM part, rest WHERE rest.waits
), short AS MATERIALIZED (
  SELECT greatest(0, :max_jobs::int - sum(waiting))::int AS of FROM counted
), allotted AS MATERIALIZED (
  SELECT given.line, given.seat, count(*)::int AS most
  FROM (
    SELECT seated.line, seated.seat
    FROM (SELECT counted.*, row_number() OVER (ORDER BY part, n) AS seat FROM counted) AS seated, part, short,
         generate_series(1, seated.waiting + CASE WHEN seated.waiting = part.most THEN short.of ELSE 0 END) AS job
    ORDER BY (job - 1) / :at_a_time::int, seated.seat, job
    LIMIT :max_jobs::int
  ) AS given
  GROUP BY given.line, given.seat
), kept AS (
  -- The next claim begins after the line of the last job that was taken. Of claims that began after the same line one
  -- says so: none waits for another, and none that took its time sets them back.
  UPDATE millrace.queue_limits g SET turn = served.line
  FROM (SELECT due.line FROM due WHERE due.n = (SELECT max(n) FROM claimed)) AS served
  WHERE g.turn IS DISTINCT FROM served.line AND g.ctid = ANY (ARRAY(
    SELECT began.ctid FROM millrace.queue_limits began
    WHERE began.queue = :queue AND began.turn IS NOT DISTINCT FROM (SELECT turn FROM gate)
    FOR NO KEY UPDATE SKIP LOCKED
  ))

-- fragment: jobs_in_turn
-- The jobs that are allotted to each line, by the usual order within it.
  SELECT row_number() OVER (ORDER BY (round - 1) / :at_a_time::int, seat, round) AS n, found.*
  FROM (
    SELECT head.*, turn.line, turn.seat, row_number() OVER (
      PARTITION BY turn.seat ORDER BY head.priority DESC, head.scheduled_at, head.id
    ) AS round
    FROM allotted AS turn, LATERAL (
      SELECT r.ctid AS place, r.priority, r.scheduled_at, r.retry_count, r.delivery_count, r.id, r.tenant,
             r.workflow_id, r.error, r.size, r.limits, r.expires_at, false AS later
      FROM millrace.ready r
      WHERE r.waits_for = turn.line AND r.queue = :queue
        AND (r.expires_at IS NULL OR r.expires_at > statement_timestamp())
      ORDER BY r.priority DESC, r.scheduled_at, r.id
      LIMIT turn.most
      FOR UPDATE SKIP LOCKED
    ) AS head
    UNION ALL
    SELECT head.*, NULL, coalesce((SELECT seat FROM allotted WHERE line IS NULL), 2147483647),
           row_number() OVER (ORDER BY head.priority DESC, head.scheduled_at, head.id)
    FROM (
      SELECT * FROM (
        SELECT r.ctid AS place, r.priority, r.scheduled_at, r.retry_count, r.delivery_count, r.id, r.tenant,
               r.workflow_id, r.error, r.size, r.limits, r.expires_at, false AS later
        FROM millrace.ready r
        WHERE r.queue = :queue AND r.later IS NULL AND r.scheduled_at <= now()
          AND (r.expires_at IS NULL OR r.expires_at > statement_timestamp())
        ORDER BY r.priority DESC, r.scheduled_at, r.id
        LIMIT coalesce((SELECT most FROM allotted WHERE line IS NULL), 0)
        FOR UPDATE SKIP LOCKED
      ) AS in_order
      UNION ALL
      SELECT * FROM fell_due
    ) AS head
  ) AS found

-- Where the due jobs are. Most are in claim order: that takes one walk along one index, however many priorities there
-- are, or, if floors are given (:floor_priorities and :floor_instants), one walk per priority from its floor. Jobs that
-- were not due when they were written are apart from that, ordered by time (:later_floor is the floor there). The
-- statements sort both together, and take the first :max_jobs, skipping those that other claims have locked.
--
-- Jobs of the second kind that have fallen due but are not taken move into claim order. A claim looks at up to a
-- hundred of them even if :max_jobs is smaller, so that claims of one job do not keep a high-priority job waiting
-- behind many that fell due before it.
--
-- A claim returns at most :max_bytes of jobs, but always the first job. `cut` says that this limit ended it and more
-- jobs are due. Jobs that were locked but not taken are unlocked at the commit. A job that has expired is skipped: a
-- sweep ends it (outcomes/expiry.sql).

-- fragment: pause
-- A paused queue yields nothing: none of the walks begins. Nor does one with settings, unless the caller holds its
-- gate: `gated` says so, and the claim is tried again through it (gates.sql).
  SELECT gate.closed OR EXISTS (
           SELECT FROM millrace.queues q WHERE q.queue = :queue AND q.paused_at IS NOT NULL
         ) AS paused, gate.closed AS gated
  FROM (
    SELECT NOT :gate_held::bool AND EXISTS (SELECT FROM millrace.queue_limits g WHERE g.queue = :queue) AS closed
  ) AS gate

-- fragment: pause_of_turns
-- The same where tenants take turns. Unless the queue also has a limit or a rate, no gate has to be held.
  SELECT gate.closed OR EXISTS (
           SELECT FROM millrace.queues q WHERE q.queue = :queue AND q.paused_at IS NOT NULL
         ) AS paused, gate.closed AS gated
  FROM (
    SELECT NOT coalesce((SELECT :gate_held::bool OR NOT counted FROM gate), false) AS closed
  ) AS gate

-- fragment: gate_of_turns
  SELECT g.turn, g.running IS NOT NULL OR g.rate_count IS NOT NULL AS counted
  FROM millrace.queue_limits g WHERE g.queue = :queue AND g.share IS NOT NULL

-- fragment: floors
  SELECT * FROM unnest(:floor_priorities::int[], :floor_instants::timestamptz[]) AS given (priority, since)

-- fragment: jobs_that_fell_due
  SELECT r.ctid AS place, r.priority, r.scheduled_at, r.retry_count, r.delivery_count, r.id, r.tenant, r.workflow_id,
         r.error, r.size, r.limits, r.expires_at, true AS later
  FROM millrace.ready r
  WHERE r.queue = :queue AND r.later AND r.scheduled_at >= :later_floor::timestamptz AND r.scheduled_at <= now()
    AND (r.expires_at IS NULL OR r.expires_at > statement_timestamp()) AND NOT (SELECT paused FROM pause)
  ORDER BY r.scheduled_at, r.id
  LIMIT greatest(:max_jobs::int, 100)
  FOR UPDATE SKIP LOCKED

-- fragment: due_jobs
  SELECT row_number() OVER (ORDER BY priority DESC, scheduled_at, id) AS n, found.*
  FROM (
    SELECT * FROM (
      SELECT r.ctid AS place, r.priority, r.scheduled_at, r.retry_count, r.delivery_count, r.id, r.tenant,
             r.workflow_id, r.error, r.size, r.limits, r.expires_at, false AS later
      FROM millrace.ready r
      WHERE r.queue = :queue AND r.later IS NULL AND r.scheduled_at <= now() AND :floor_priorities::int[] IS NULL
        AND (r.expires_at IS NULL OR r.expires_at > statement_timestamp()) AND NOT (SELECT paused FROM pause)
      ORDER BY r.priority DESC, r.scheduled_at, r.id
      LIMIT :max_jobs::int
      FOR UPDATE SKIP LOCKED
    ) AS in_order
    UNION ALL
    SELECT * FROM (
      SELECT ahead.*
      FROM (SELECT * FROM floor ORDER BY priority DESC) AS floor,
      LATERAL (
        SELECT r.ctid AS place, r.priority, r.scheduled_at, r.retry_count, r.delivery_count, r.id, r.tenant,
               r.workflow_id, r.error, r.size, r.limits, r.expires_at, false AS later
        FROM millrace.ready r
        WHERE r.queue = :queue AND r.later IS NULL AND r.priority = floor.priority
          AND r.scheduled_at >= floor.since AND r.scheduled_at <= now()
          AND (r.expires_at IS NULL OR r.expires_at > statement_timestamp()) AND NOT (SELECT paused FROM pause)
        ORDER BY r.scheduled_at, r.id
        LIMIT :max_jobs::int
        FOR UPDATE SKIP LOCKED
      ) AS ahead
      LIMIT :max_jobs::int
    ) AS from_floors
    UNION ALL
    SELECT * FROM fell_due
  ) AS found

-- fragment: first_beyond_max_bytes
  SELECT min(n) AS n
  FROM (SELECT n, sum(size) OVER (ORDER BY n) AS bytes FROM due WHERE size IS NOT NULL) AS large
  WHERE bytes > :max_bytes::bigint AND n > 1 AND n <= :max_jobs::int

-- fragment: take_claimed
  DELETE FROM millrace.ready WHERE ctid = ANY (ARRAY(SELECT place FROM claimed))

-- fragment: take_fallen
  DELETE FROM millrace.ready
  WHERE ctid = ANY (ARRAY(
    SELECT place FROM due
    WHERE EXISTS (SELECT FROM fell_due) AND later AND n > (SELECT count(*) FROM claimed)
  ))
  RETURNING scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue, workflow_id, error,
            size, limits, expires_at

-- fragment: move_fallen
  INSERT INTO millrace.ready (scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue,
                              workflow_id, error, size, limits, expires_at)
  SELECT scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue, workflow_id, error, size,
         limits, expires_at
  FROM fallen
  RETURNING priority, scheduled_at

-- fragment: that_is_watched
  WHERE (SELECT EXISTS (SELECT FROM millrace.watches))
    AND EXISTS (SELECT FROM millrace.watches w WHERE w.job_id = claimed.id)
  RETURNING 1

-- fragment: whole_jobs
  SELECT c.n, c.id, c.tenant, c.retry_count, c.delivery_count, c.scheduled_at, c.error, j.task, j.payload, j.config,
         j.metadata, j.created_at, j.idempotency_key, j.workflow_id, j.step, j.context
  FROM (SELECT * FROM claimed ORDER BY n) AS c,
  LATERAL (SELECT * FROM millrace.jobs j WHERE j.tenant = c.tenant AND j.id = c.id OFFSET 0) AS j

-- fragment: unknown_contexts
-- Contexts that are stored apart, each once, however many of the jobs name it; towards :max_bytes a context counts once
-- per job. Those that the process knows already (:known_contexts: workflow and version) are left out.
  SELECT stored.* FROM named, LATERAL (
    SELECT x.* FROM millrace.workflow_contexts x
    WHERE x.workflow_id = named.workflow_id AND x.version = named.version OFFSET 0
  ) AS stored
  WHERE :known_contexts::text[] IS NULL
     OR named.workflow_id || '/' || named.version <> ALL (:known_contexts::text[])

-- fragment: fields_of_c
  SELECT c.n, c.metadata::text AS metadata, c.retry_count, c.delivery_count + 1 AS delivery_count,
         CASE WHEN c.scheduled_at <> c.created_at THEN c.scheduled_at::text END AS scheduled_at,
         c.error, c.idempotency_key, c.workflow_id, c.step, c.context

-- fragment: answer
-- The answer is a single row, because unpacking hundreds of rows costs the server more than the claim itself. It has
-- one array per column, in claim order, with caller JSON as text. Fields that most jobs do not have (`optional_fields`)
-- are given by name, only for the jobs that have them. A time that is already in the id is not repeated. Payloads are
-- concatenated, separated by a character that cannot occur in JSON text, so the answer is as long as the stored text,
-- whatever that contains. Contexts are returned in the same way, and so are the configurations of those jobs that have
-- one (`configured`: their numbers). RETURNING keeps no order, hence the numbering.
  (SELECT count(*) FROM seen)::int AS watched,
  statement_timestamp()::text AS now,
  (SELECT n IS NOT NULL FROM too_much) AS cut,
  (SELECT gated FROM pause) AS gated,
  (SELECT extract(epoch FROM max(scheduled_at)) * 1000 FROM fell_due)::float8 AS fell_due_up_to,
  (SELECT json_agg(json_build_object('priority', priority, 'since', since)) FROM (
     SELECT priority, (extract(epoch FROM min(scheduled_at)) * 1000)::float8 AS since FROM moved GROUP BY priority
   ) AS priorities)::text AS moved,
  string_agg(c.id::text, ',') AS ids,
  json_agg(c.task)::text AS tasks,
  string_agg(c.payload::text, chr(1)) AS payloads,
  (json_agg(fields) FILTER (
    WHERE c.metadata IS NOT NULL OR c.delivery_count > 0 OR c.scheduled_at <> c.created_at
       OR c.idempotency_key IS NOT NULL OR c.workflow_id IS NOT NULL
  ))::text AS optional_fields,
  (json_agg(c.n) FILTER (WHERE c.config IS NOT NULL))::text AS configured,
  string_agg(c.config::text, chr(1)) FILTER (WHERE c.config IS NOT NULL) AS configs,
  (SELECT json_agg(json_build_object('workflow_id', workflow_id, 'version', version) ORDER BY workflow_id, version)
   FROM context)::text AS context_keys,
  (SELECT string_agg(context::text, chr(1) ORDER BY workflow_id, version) FROM context) AS contexts

-- name: mark_started
-- For readers of the API: a workflow is running once one of its steps has been claimed. A locked workflow is skipped: a
-- claim never waits for a workflow, and the transaction that holds the lock marks it too.
UPDATE millrace.workflow_runs r
SET status = 'running', started_at = now()
WHERE r.ctid = ANY (ARRAY(
    SELECT w.place FROM unnest(:tenants::text[], :ids::uuid[]) AS claimed (tenant, id),
    LATERAL (SELECT r.ctid AS place FROM millrace.workflow_runs r
             WHERE r.tenant = claimed.tenant AND r.id = claimed.id AND r.status = 'created'
             FOR NO KEY UPDATE SKIP LOCKED) AS w
  )) AND r.status = 'created';

-- name: next_due
-- How long until the first job of each of these queues falls due: waiting claims set their timers by this. Queues with
-- no waiting jobs are left out, and so are paused ones: whoever waits there is woken when they are resumed. Every job
-- in claim order is due, except those that a server of an earlier version may have put there in the meantime.
SELECT asked.queue, extract(epoch FROM least(first.scheduled_at, next.scheduled_at, line.scheduled_at) - now())::float8
         AS secs
FROM unnest(:queues::text[]) AS asked (queue)
LEFT JOIN LATERAL (
  SELECT r.scheduled_at FROM millrace.ready r
  WHERE r.queue = asked.queue AND r.later IS NULL AND (r.expires_at IS NULL OR r.expires_at > now())
  ORDER BY r.priority DESC, r.scheduled_at, r.id LIMIT 1
) AS first ON true
LEFT JOIN LATERAL (
  SELECT r.scheduled_at FROM millrace.ready r
  WHERE r.queue = asked.queue AND r.later AND (r.expires_at IS NULL OR r.expires_at > now())
  ORDER BY r.scheduled_at, r.id LIMIT 1
) AS next ON true
LEFT JOIN LATERAL (
  SELECT r.scheduled_at FROM (
    SELECT left(md5(g.queue), 16) AS half FROM millrace.queue_limits g
    WHERE g.queue = asked.queue AND g.share IS NOT NULL OFFSET 0
  ) AS shared, LATERAL (
    SELECT r.scheduled_at FROM millrace.ready r
    WHERE r.waits_for > (half || repeat('0', 16))::uuid AND r.waits_for <= (half || repeat('f', 16))::uuid
      AND (r.expires_at IS NULL OR r.expires_at > now())
    ORDER BY r.waits_for LIMIT 1
  ) AS r
) AS line ON true
LEFT JOIN LATERAL (
  SELECT q.paused_at FROM millrace.queues q WHERE q.queue = asked.queue OFFSET 0
) AS known ON true
WHERE coalesce(first.scheduled_at, next.scheduled_at, line.scheduled_at) IS NOT NULL AND known.paused_at IS NULL;

-- name: share_for_pool
-- claim_for_pool on a queue where tenants take turns. It is one statement, and holds nothing that another claim would
-- wait for: claims that happen at the same time each take turns for themselves.
WITH RECURSIVE gate AS MATERIALIZED (
-- include: gate_of_turns
), pause AS MATERIALIZED (
-- include: pause_of_turns
), fell_due AS MATERIALIZED (
-- include: jobs_that_fell_due
-- include: turns_of_queue
), due AS MATERIALIZED (
-- include: jobs_in_turn
-- include: hold_for_pool

-- name: share_for_workers
-- The same for workers.
WITH RECURSIVE gate AS MATERIALIZED (
-- include: gate_of_turns
), pause AS MATERIALIZED (
-- include: pause_of_turns
), fell_due AS MATERIALIZED (
-- include: jobs_that_fell_due
-- include: turns_of_queue
), due AS MATERIALIZED (
-- include: jobs_in_turn
-- include: hold_for_workers

-- name: peek
-- What a claim of :max_jobs could take, without locking anything: priority and instant of each, in claim order. With
-- several databases it is asked of each before one of them is claimed from (cells/claimer.ts), and kept for a moment,
-- at most until another job falls due. It starts at the same floors as a claim. Jobs in the lines of tenants are left
-- out: `gated` says that there may be more.
SELECT EXISTS (SELECT FROM millrace.queue_limits g WHERE g.queue = :queue) AS gated,
       (SELECT json_agg(json_build_array(head.priority, extract(epoch FROM head.scheduled_at))) FROM (
          SELECT found.priority, found.scheduled_at FROM (
            SELECT * FROM (
              SELECT r.priority, r.scheduled_at, r.id FROM millrace.ready r
              WHERE r.queue = :queue AND r.later IS NULL AND r.scheduled_at <= now()
                AND :floor_priorities::int[] IS NULL AND (r.expires_at IS NULL OR r.expires_at > now())
              ORDER BY r.priority DESC, r.scheduled_at, r.id
              LIMIT :max_jobs::int
            ) AS in_order
            UNION ALL
            SELECT * FROM (
              SELECT ahead.*
              FROM (SELECT * FROM (
-- include: floors
              ) AS given ORDER BY priority DESC) AS floor,
              LATERAL (
                SELECT r.priority, r.scheduled_at, r.id FROM millrace.ready r
                WHERE r.queue = :queue AND r.later IS NULL AND r.priority = floor.priority
                  AND r.scheduled_at >= floor.since AND r.scheduled_at <= now()
                  AND (r.expires_at IS NULL OR r.expires_at > now())
                ORDER BY r.scheduled_at, r.id
                LIMIT :max_jobs::int
              ) AS ahead
              LIMIT :max_jobs::int
            ) AS from_floors
            UNION ALL
            SELECT * FROM (
              SELECT r.priority, r.scheduled_at, r.id FROM millrace.ready r
              WHERE r.queue = :queue AND r.later AND r.scheduled_at >= :later_floor::timestamptz
                AND r.scheduled_at <= now() AND (r.expires_at IS NULL OR r.expires_at > now())
              ORDER BY r.scheduled_at, r.id
              LIMIT greatest(:max_jobs::int, 100)
            ) AS fallen
          ) AS found
          WHERE NOT EXISTS (SELECT FROM millrace.queues q WHERE q.queue = :queue AND q.paused_at IS NOT NULL)
          ORDER BY found.priority DESC, found.scheduled_at, found.id
          LIMIT :max_jobs::int
        ) AS head)::text AS heads,
       (SELECT extract(epoch FROM min(r.scheduled_at) - now())::float8 FROM millrace.ready r
        WHERE r.queue = :queue AND r.later AND r.scheduled_at > now()) AS next_secs;
