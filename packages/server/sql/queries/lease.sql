-- Plans. These statements run under one plan, made once, whatever the tables hold at that moment, so their shape must leave no choice: a row
-- that is looked up by key stands in a LATERAL subquery with OFFSET 0 (which can only be a loop over an index), and a row that is changed is
-- found by `= ANY (ids)` and then hashed against what was given. See HOT_SETTINGS in src/store/database.ts.

-- name: claim
-- Takes the first due jobs of a queue, lane by lane (a lane is one priority, walked by scheduled_at from its floor), skipping
-- what others are taking, and puts the k-th under the k-th token for the k-th number of seconds. Where there is a token for a
-- bundle ($6), jobs of one tenant about which there is nothing particular to say go together under that.
-- One row comes back, because unpacking hundreds costs the server more than the claim itself: an array a column, in claim order, caller JSON as
-- text; and what most jobs do not have (`optional_fields`) only for those that have it. An instant that is the one in the id is not said again.
-- RETURNING keeps no order, hence the numbering.
-- Without floors ($2 null) the lanes are found here, one index probe a priority.
WITH RECURSIVE found (priority) AS (
  (SELECT r.priority FROM millrace.ready r WHERE r.queue = $1 AND $2::int[] IS NULL ORDER BY r.priority DESC LIMIT 1)
  UNION ALL
  SELECT (SELECT r.priority FROM millrace.ready r WHERE r.queue = $1 AND r.priority < found.priority ORDER BY r.priority DESC LIMIT 1)
  FROM found WHERE found.priority IS NOT NULL
), lane AS MATERIALIZED (
  SELECT priority, '-infinity'::timestamptz AS floor FROM found WHERE priority IS NOT NULL
  UNION ALL
  SELECT * FROM unnest($2::int[], $3::timestamptz[]) AS given (priority, floor)
), picked AS MATERIALIZED (
  SELECT due.*
  FROM (SELECT * FROM lane ORDER BY priority DESC) AS lane,
  LATERAL (
    SELECT r.ctid AS place, r.priority, r.scheduled_at, r.retry_count, r.delivery_count, r.id, r.tenant, r.workflow_id, r.error
    FROM millrace.ready r
    WHERE r.queue = $1 AND r.priority = lane.priority AND r.scheduled_at >= lane.floor AND r.scheduled_at <= now()
    ORDER BY r.scheduled_at, r.id
    LIMIT cardinality($4::uuid[])
    FOR UPDATE SKIP LOCKED
  ) AS due
  LIMIT cardinality($4::uuid[])
), gone AS (
  DELETE FROM millrace.ready WHERE ctid = ANY (ARRAY(SELECT place FROM picked))
), claimed AS MATERIALIZED (
  SELECT ($4::uuid[])[n] AS token, ($5::int[])[n] AS secs, numbered.*,
         $6::uuid IS NOT NULL AND retry_count = 0 AND delivery_count = 0 AND workflow_id IS NULL AND error IS NULL AS plain
  FROM (SELECT row_number() OVER (ORDER BY priority DESC, scheduled_at, id) AS n, picked.* FROM picked) AS numbered
), bundle AS (
  INSERT INTO millrace.bundles (locked_until, started_at, first_id, last_id, token, tenant, queue, open, taken, ids)
  SELECT now() + ($5::int[])[1] * interval '1 second', now(), ids[1], ids[n], $6, tenant, $1, repeat('1', n)::varbit, '', ids
  FROM (SELECT tenant, count(*)::int AS n, array_agg(id ORDER BY id) AS ids FROM claimed WHERE plain GROUP BY tenant HAVING count(*) >= 4) AS many
  RETURNING tenant
), alone AS MATERIALIZED (
  SELECT * FROM claimed WHERE NOT plain OR tenant <> ALL (ARRAY(SELECT tenant FROM bundle))
), held AS (
  INSERT INTO millrace.leases (locked_until, started_at, scheduled_at, retry_count, delivery_count, id, token, tenant, workflow_id, error)
  SELECT now() + secs * interval '1 second', now(), CASE WHEN retry_count > 0 THEN scheduled_at END,
         retry_count, delivery_count + 1, id, token, tenant, workflow_id, error
  FROM alone
), seen AS (
  INSERT INTO millrace.transitions (at, scheduled_at, started_at, retry_count, delivery_count, status, job_id, error)
  SELECT now(), CASE WHEN retry_count > 0 THEN scheduled_at END, now(), retry_count, delivery_count + 1, 'running', id, error
  FROM claimed
  WHERE (SELECT EXISTS (SELECT FROM millrace.watches)) AND EXISTS (SELECT FROM millrace.watches w WHERE w.job_id = claimed.id)
  RETURNING 1
)
SELECT
  (SELECT count(*) FROM seen)::int AS watched,
  now()::text AS now,
  (SELECT json_agg(n) FROM alone WHERE $6 IS NOT NULL)::text AS alone,
  json_agg(c.id)::text AS ids, json_agg(c.tenant)::text AS tenants, json_agg(c.task)::text AS tasks, json_agg(c.payload::text)::text AS payloads,
  (json_agg(json_build_array(
      c.n, c.config, c.metadata::text, c.retry_count, c.delivery_count + 1, CASE WHEN c.scheduled_at <> c.created_at THEN c.scheduled_at::text END,
      c.error, c.idempotency_key, c.workflow_id, c.step, c.context
    )) FILTER (WHERE c.config IS NOT NULL OR c.metadata IS NOT NULL OR c.delivery_count > 0 OR c.scheduled_at <> c.created_at
                 OR c.idempotency_key IS NOT NULL OR c.workflow_id IS NOT NULL))::text AS optional_fields,
  (SELECT json_agg(json_build_array(x.workflow_id, x.version, x.context::text)) FROM (
     SELECT DISTINCT j.workflow_id, j.context FROM claimed s,
     LATERAL (SELECT * FROM millrace.jobs j WHERE j.tenant = s.tenant AND j.id = s.id AND j.context IS NOT NULL OFFSET 0) AS j
     WHERE s.workflow_id IS NOT NULL
   ) AS named,
   LATERAL (SELECT * FROM millrace.workflow_contexts x WHERE x.workflow_id = named.workflow_id AND x.version = named.context OFFSET 0) AS x
  )::text AS contexts
FROM (
  SELECT c.n, c.id, c.tenant, c.retry_count, c.delivery_count, c.scheduled_at, c.error,
         j.task, j.payload, j.config, j.metadata, j.created_at, j.idempotency_key, j.workflow_id, j.step, j.context
  FROM claimed c, LATERAL (SELECT * FROM millrace.jobs j WHERE j.tenant = c.tenant AND j.id = c.id OFFSET 0) AS j
  ORDER BY c.n
) AS c;

-- name: next_due
-- How long until the next job of a queue falls due: what a waiting claim sets its alarm by.
WITH RECURSIVE lane (priority) AS (
  (SELECT r.priority FROM millrace.ready r WHERE r.queue = $1 ORDER BY r.priority DESC LIMIT 1)
  UNION ALL
  SELECT (SELECT r.priority FROM millrace.ready r WHERE r.queue = $1 AND r.priority < lane.priority ORDER BY r.priority DESC LIMIT 1)
  FROM lane WHERE lane.priority IS NOT NULL
)
SELECT extract(epoch FROM min(first.scheduled_at) - now())::float8 AS secs
FROM lane, LATERAL (
  SELECT r.scheduled_at FROM millrace.ready r
  WHERE r.queue = $1 AND r.priority = lane.priority
  ORDER BY r.scheduled_at LIMIT 1
) AS first;

-- name: extend
-- A heartbeat, for any number of leases: the new deadline counts from now and may be earlier than the old one.
UPDATE millrace.leases l
SET locked_until = now() + beat.secs * interval '1 second'
FROM unnest($1::uuid[], $2::uuid[], $3::int[]) AS beat (id, token, secs)
WHERE l.id = ANY ($1::uuid[]) AND l.id = beat.id AND l.token = beat.token
RETURNING l.id, l.token;

-- name: standing
-- Which of these leases still stand: how a process learns of a cancellation without writing anything.
SELECT l.id, l.token
FROM unnest($1::uuid[], $2::uuid[]) AS mine (id, token),
LATERAL (SELECT l.id, l.token FROM millrace.leases l WHERE l.id = mine.id AND l.token = mine.token OFFSET 0) AS l;

-- name: unbundle
-- Jobs out of their bundles, each into a lease of its own under the same token and deadline. Nothing about them changes but where they stand.
-- A null token: whichever bundle holds it.
WITH given AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::uuid[], $3::uuid[]) AS given (tenant, id, token)
), wanted AS MATERIALIZED (
  SELECT b.token, b.tenant, array_agg(given.id) AS ids,
         bit_or(set_bit(repeat('0', length(b.open))::varbit, array_position(b.ids, given.id) - 1, 1)) AS mask
  FROM millrace.bundles b, given
  WHERE b.tenant = given.tenant AND (b.token = given.token OR given.token IS NULL) AND given.id BETWEEN b.first_id AND b.last_id
    AND get_bit(b.open, array_position(b.ids, given.id) - 1) = 1
  GROUP BY b.token, b.tenant
), loosened AS (
  UPDATE millrace.bundles b
  SET taken = b.open & wanted.mask, open = b.open & ~wanted.mask
  FROM wanted
  WHERE b.token = ANY (ARRAY(SELECT token FROM wanted)) AND b.token = wanted.token AND b.tenant = wanted.tenant
  RETURNING b.tenant, b.token, b.locked_until, b.started_at, b.taken, b.ids
)
INSERT INTO millrace.leases (locked_until, started_at, retry_count, delivery_count, id, token, tenant)
SELECT b.locked_until, b.started_at, 0, 1, member.id, b.token, b.tenant
FROM loosened b, unnest(b.ids) WITH ORDINALITY AS member (id, n)
WHERE get_bit(b.taken, member.n::int - 1) = 1
RETURNING id;

-- name: extend_bundles
-- A heartbeat for all that is held together, and what of it still is.
UPDATE millrace.bundles SET locked_until = now() + $2 * interval '1 second'
WHERE token = ANY ($1::uuid[])
RETURNING token, tenant, open::text;

-- name: standing_bundles
SELECT token, tenant, open::text FROM millrace.bundles WHERE token = ANY ($1::uuid[]);

-- name: lease_facts
-- What the failure policy needs to know. It cannot change while the token stands, so the settlement that follows, fenced by
-- the same token, may rely on it without a transaction around both.
SELECT l.id, l.retry_count, j.config
FROM unnest($1::uuid[], $2::uuid[]) AS mine (id, token),
LATERAL (SELECT * FROM millrace.leases l WHERE l.id = mine.id AND l.token = mine.token OFFSET 0) AS l,
LATERAL (SELECT j.config FROM millrace.jobs j WHERE j.tenant = l.tenant AND j.id = l.id OFFSET 0) AS j;

-- name: expired
-- Running jobs past their deadline, oldest first. Only candidates: the settlement checks token and deadline again.
SELECT l.tenant, l.id, l.token, l.bundled, l.retry_count, j.config
FROM (SELECT * FROM millrace.running WHERE locked_until < now() ORDER BY locked_until LIMIT $1) AS l,
LATERAL (SELECT j.config FROM millrace.jobs j WHERE j.tenant = l.tenant AND j.id = l.id OFFSET 0) AS j;
