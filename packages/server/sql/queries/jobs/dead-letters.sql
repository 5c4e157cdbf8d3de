-- name: dead_letter
SELECT d.id, d.tenant, d.job_id, d.queue, d.task, d.reason, d.error, d.created_at, d.replayed_at, d.replay_job_id,
       d.retry_count, d.fingerprint,
       (SELECT millrace.payload_bytes(j.payload, j.context, j.context_bytes)
        FROM millrace.jobs j WHERE j.tenant = d.tenant AND j.id = d.job_id) AS payload_bytes
FROM millrace.dead_letters d WHERE d.id = :id;

-- name: dead_letter_groups
-- Goes from fingerprint to fingerprint along their index, so it costs two probes per group and not the entries of the
-- groups; then counts those of the page. The groups come by their newest entry, among those since :since on :queue,
-- :replayed or not: of a group that was replayed as a whole, each entry is looked at to find none.
-- If the tenant has more than :max_known groups, that is all it says (`too_many`): then entries are walked instead.
WITH RECURSIVE known AS (
  SELECT 1 AS n, (
    SELECT d.fingerprint FROM millrace.dead_letters d
    WHERE d.tenant = :tenant AND d.fingerprint >= '' ORDER BY d.fingerprint LIMIT 1
  ) AS fingerprint
  UNION ALL
  SELECT known.n + 1, (
    SELECT d.fingerprint FROM millrace.dead_letters d
    WHERE d.tenant = :tenant AND d.fingerprint > known.fingerprint ORDER BY d.fingerprint LIMIT 1
  )
  FROM known WHERE known.fingerprint IS NOT NULL AND known.n <= :max_known::int
), bound AS MATERIALIZED (
  SELECT count(known.fingerprint) > :max_known::int AS too_many FROM known
), page AS MATERIALIZED (
  SELECT known.fingerprint, newest.task, newest.reason, newest.error, newest.created_at, newest.id
  FROM known, LATERAL (
    SELECT d.task, d.reason, d.error, d.created_at, d.id FROM millrace.dead_letters d
    WHERE d.tenant = :tenant AND d.fingerprint = known.fingerprint
      AND (:since::timestamptz IS NULL OR d.created_at >= :since) AND (:queue::text IS NULL OR d.queue = :queue)
      AND (:replayed::bool IS NULL OR (d.replayed_at IS NOT NULL) = :replayed)
    ORDER BY d.created_at DESC, d.id DESC LIMIT 1
  ) AS newest
  WHERE NOT (SELECT too_many FROM bound) AND (:task::text IS NULL OR newest.task = :task)
    AND (:after_at::timestamptz IS NULL OR (newest.created_at, newest.id) < (:after_at, :after_id::bigint))
  ORDER BY newest.created_at DESC, newest.id DESC LIMIT :max_groups
)
SELECT bound.too_many, grouped.* FROM bound LEFT JOIN (
-- include: groups_of_the_page
) AS grouped ON true
ORDER BY grouped.last_at DESC, grouped.latest_id DESC;

-- name: dead_letter_groups_of
-- The groups of these entries, each the newest of its group, in the same form.
WITH page AS MATERIALIZED (
  SELECT d.fingerprint, d.task, d.reason, d.error, d.created_at, d.id FROM millrace.dead_letters d
  WHERE d.id = ANY (:ids::bigint[]) AND d.tenant = :tenant
)
SELECT grouped.* FROM (
-- include: groups_of_the_page
) AS grouped
ORDER BY grouped.last_at DESC, grouped.latest_id DESC;

-- fragment: groups_of_the_page
  SELECT page.fingerprint, page.task, page.reason, millrace.error_kind(page.error) AS message,
         counted.count, counted.open, counted.first_at, page.created_at AS last_at, page.id AS latest_id
  FROM page, LATERAL (
    SELECT count(*)::float8 AS count, (count(*) FILTER (WHERE d.replayed_at IS NULL))::float8 AS open,
           min(d.created_at) AS first_at
    FROM millrace.dead_letters d
    WHERE d.tenant = :tenant AND d.fingerprint = page.fingerprint
      AND (:since::timestamptz IS NULL OR d.created_at >= :since) AND (:queue::text IS NULL OR d.queue = :queue)
      AND (:replayed::bool IS NULL OR (d.replayed_at IS NOT NULL) = :replayed)
  ) AS counted

-- name: metadata_of_job
SELECT metadata FROM millrace.jobs WHERE tenant = :tenant AND id = :id;

-- name: replay
-- Marks the entry as replayed and creates the new job in one statement: of any number of concurrent callers, one gets
-- the row, and the others wait for it and then find replayed_at set. If the original job is gone, nothing happens. The
-- replay of a step belongs to no workflow: a context that is stored apart is copied into its payload, as in
-- composePayload. :metadata is that of the new job. A job with limits joins the line of its first one, and
-- one that expires does so anew.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), original AS MATERIALIZED (
  SELECT j.priority, j.tenant, j.queue, j.task, j.limits, millrace.copied_config(j.config) AS config,
         millrace.expiry(millrace.copied_config(j.config), clock.now) AS expires_at,
         (clock.prefix || millrace.marked_suffix(:suffix, j.config))::uuid AS id,
         CASE WHEN j.context IS NULL THEN j.payload ELSE (
           SELECT (CASE j.payload::text WHEN '{}' THEN '{' ELSE left(j.payload::text, -1) || ',' END
                   || '"_context":' || c.context::text || '}')::json
           FROM millrace.workflow_contexts c WHERE c.workflow_id = j.workflow_id AND c.version = j.context
         ) END AS payload
  FROM clock, millrace.dead_letters d,
  LATERAL (SELECT * FROM millrace.jobs j WHERE j.tenant = d.tenant AND j.id = d.job_id OFFSET 0) AS j
  WHERE d.id = :id
), taken AS (
  UPDATE millrace.dead_letters d
  SET replayed_at = clock.now, replay_job_id = j.id
  FROM clock, original j
  WHERE d.id = :id AND d.replayed_at IS NULL
  RETURNING clock.now, j.id, j.priority, j.tenant, j.queue, j.task, j.payload, j.config, :metadata::json AS metadata,
            j.limits, j.expires_at
), stored AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config, metadata, limits)
  SELECT now, priority, id, tenant, queue, task, payload, config, metadata, limits FROM taken
), queued AS (
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, later, size,
                              limits, waits_for, expires_at)
  SELECT now, priority, 0, 0, id, tenant, queue, CASE WHEN limits IS NOT NULL THEN false END,
         millrace.job_size(payload, metadata, NULL), limits, limits[1], expires_at
  FROM taken
), noted AS (
  INSERT INTO millrace.limit_notes (given_back, limit_id, job_id, tenant)
  SELECT 0, each.id, taken.id, taken.tenant FROM taken, unnest(taken.limits) AS each (id)
)
SELECT id, queue, task, priority, limits[1] AS waits_for FROM taken;
