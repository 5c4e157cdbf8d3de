-- name: jobs_to_cancel
-- What jobs are at this moment.
SELECT r.id, r.status, r.workflow_id, r.step
FROM unnest(:ids::uuid[]) AS given (id), LATERAL (
  SELECT r.id, r.status, r.workflow_id, r.step FROM millrace.job_records r
  WHERE r.tenant = :tenant AND r.id = given.id OFFSET 0
) AS r;

-- name: letters_to_replay
-- As many of the given ones, in their order, as are to be replayed together: at least one, and others while their jobs
-- come to at most :max_bytes as they are stored.
SELECT sized.id, sized.job_id, sized.metadata
FROM (
  SELECT given.n, given.id, d.job_id, j.metadata, sum(coalesce(j.bytes, 0)) OVER (ORDER BY given.n) AS bytes
  FROM unnest(:ids::bigint[]) WITH ORDINALITY AS given (id, n)
  LEFT JOIN LATERAL (
    SELECT d.tenant, d.job_id FROM millrace.dead_letters d WHERE d.id = given.id OFFSET 0
  ) AS d ON d.tenant = :tenant
  LEFT JOIN LATERAL (
    SELECT j.metadata, pg_column_size(j.payload) + coalesce(pg_column_size(j.metadata), 0)
                       + coalesce(j.context_bytes, 0)
                       + CASE WHEN :keeps::bool THEN coalesce((
                           SELECT t.bytes FROM millrace.checkpoint_totals t WHERE t.job_id = j.id
                         ), 0) ELSE 0 END AS bytes
    FROM millrace.jobs j WHERE j.tenant = d.tenant AND j.id = d.job_id OFFSET 0
  ) AS j ON true
) AS sized
WHERE sized.n = 1 OR sized.bytes <= :max_bytes
ORDER BY sized.n;

-- name: replay_letters
-- As `replay` in jobs/dead-letters.sql, for many, and notes the new jobs so that their outcome can be counted.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), original AS MATERIALIZED (
  SELECT given.id AS letter,
-- include: copied
  FROM clock, unnest(:ids::bigint[], :suffixes::text[], :metadata::json[]) AS given (id, suffix, metadata),
  LATERAL (
    SELECT d.tenant, d.job_id, d.replayed_at FROM millrace.dead_letters d WHERE d.id = given.id OFFSET 0
  ) AS d,
  LATERAL (
    SELECT j.priority, j.tenant, j.queue, j.task, j.config, j.payload, j.context, j.workflow_id, j.limits
    FROM millrace.jobs j WHERE j.tenant = d.tenant AND j.id = d.job_id OFFSET 0
  ) AS j
  WHERE d.tenant = :tenant AND d.replayed_at IS NULL AND j.queue <> 'millrace:waits'
), copy AS (
  UPDATE millrace.dead_letters d
  SET replayed_at = j.now, replay_job_id = j.id
  FROM original j
  WHERE d.id = ANY (ARRAY(SELECT letter FROM original)) AND d.id = j.letter AND d.replayed_at IS NULL
  RETURNING j.letter, j.now, j.id, j.priority, j.tenant, j.queue, j.task, j.payload, j.config, j.metadata, j.limits,
            j.expires_at
-- include: create_copies
)
SELECT id, letter, queue, task, priority, limits[1] AS waits_for FROM copy;

-- name: jobs_to_rerun
-- As `letters_to_replay`, of jobs.
SELECT sized.id, sized.metadata
FROM (
  SELECT given.n, given.id, j.metadata, sum(coalesce(j.bytes, 0)) OVER (ORDER BY given.n) AS bytes
  FROM unnest(:ids::uuid[]) WITH ORDINALITY AS given (id, n)
  LEFT JOIN LATERAL (
    SELECT j.metadata, pg_column_size(j.payload) + coalesce(pg_column_size(j.metadata), 0)
                       + coalesce(j.context_bytes, 0) AS bytes
    FROM millrace.jobs j WHERE j.tenant = :tenant AND j.id = given.id OFFSET 0
  ) AS j ON true
) AS sized
WHERE sized.n = 1 OR sized.bytes <= :max_bytes
ORDER BY sized.n;

-- name: rerun_many
-- Those of the jobs that have ended are created anew, and noted so that their outcome can be counted.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), copy AS MATERIALIZED (
  SELECT
-- include: copied
  FROM clock, unnest(:ids::uuid[], :suffixes::text[], :metadata::json[]) AS given (id, suffix, metadata),
  LATERAL (
    SELECT j.priority, j.tenant, j.queue, j.task, j.config, j.payload, j.context, j.workflow_id, j.limits
    FROM millrace.jobs j WHERE j.tenant = :tenant AND j.id = given.id OFFSET 0
  ) AS j,
  LATERAL (
    SELECT d.id FROM unnest('{completed,failed,cancelled}'::millrace.job_status[]) AS ending (status), LATERAL (
      SELECT d.id FROM millrace.done d
      WHERE d.tenant = :tenant AND d.status = ending.status AND d.id = given.id OFFSET 0
    ) AS d
  ) AS ended
  WHERE j.queue <> 'millrace:waits'
-- include: create_copies
)
SELECT queue, task, priority, limits[1] AS waits_for FROM copy;

-- fragment: copied
         clock.now, given.metadata, j.priority, j.tenant, j.queue, j.task, j.limits,
         millrace.copied_config(j.config) AS config,
         millrace.expiry(millrace.copied_config(j.config), clock.now) AS expires_at,
         (clock.prefix || millrace.marked_suffix(given.suffix, j.config))::uuid AS id,
         CASE WHEN j.context IS NULL THEN j.payload ELSE (
           SELECT (CASE j.payload::text WHEN '{}' THEN '{' ELSE left(j.payload::text, -1) || ',' END
                   || '"_context":' || c.context::text || '}')::json
           FROM millrace.workflow_contexts c WHERE c.workflow_id = j.workflow_id AND c.version = j.context
         ) END AS payload

-- fragment: create_copies
), stored AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config, metadata, limits)
  SELECT now, priority, id, tenant, queue, task, payload, config, metadata, limits FROM copy
), queued AS (
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, later, size,
                              limits, waits_for, expires_at)
  SELECT now, priority, 0, 0, id, tenant, queue, CASE WHEN limits IS NOT NULL THEN false END,
         millrace.job_size(payload, metadata, NULL), limits, limits[1], expires_at
  FROM copy
), joined AS (
  INSERT INTO millrace.limit_notes (given_back, limit_id, job_id, tenant)
  SELECT 0, each.id, copy.id, copy.tenant FROM copy, unnest(copy.limits) AS each (id)
), noted AS (
  INSERT INTO millrace.operation_jobs (operation_id, job_id) SELECT :operation_id, id FROM copy
