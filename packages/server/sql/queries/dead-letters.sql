-- name: dead_letter
SELECT id, tenant, job_id, queue, task, reason, error, created_at, replayed_at, replay_job_id
FROM millrace.dead_letters WHERE id = $1;

-- name: metadata_of_job
SELECT metadata FROM millrace.jobs WHERE tenant = $1 AND id = $2;

-- name: replay
-- Marks the entry as replayed and creates the new job in one statement: of any number of callers, one gets the row, and
-- the others wait for it and then find replayed_at set. If the original job is gone, nothing happens. The new job of a
-- step belongs to no workflow: a context that is stored apart is copied into its payload, as composePayload does it.
-- $3 is the metadata of the new job.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, (millrace.id_prefix(now()) || $2)::uuid AS id
), original AS MATERIALIZED (
  SELECT j.priority, j.tenant, j.queue, j.task, j.config,
         CASE WHEN j.context IS NULL THEN j.payload ELSE (
           SELECT (CASE j.payload::text WHEN '{}' THEN '{' ELSE left(j.payload::text, -1) || ',' END
                   || '"_context":' || c.context::text || '}')::json
           FROM millrace.workflow_contexts c WHERE c.workflow_id = j.workflow_id AND c.version = j.context
         ) END AS payload
  FROM millrace.dead_letters d,
  LATERAL (SELECT * FROM millrace.jobs j WHERE j.tenant = d.tenant AND j.id = d.job_id OFFSET 0) AS j
  WHERE d.id = $1
), taken AS (
  UPDATE millrace.dead_letters d
  SET replayed_at = clock.now, replay_job_id = clock.id
  FROM clock, original j
  WHERE d.id = $1 AND d.replayed_at IS NULL
  RETURNING clock.now, clock.id, j.priority, j.tenant, j.queue, j.task, j.payload, j.config, $3::json AS metadata
), stored AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config, metadata)
  SELECT now, priority, id, tenant, queue, task, payload, config, metadata FROM taken
), queued AS (
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, size)
  SELECT now, priority, 0, 0, id, tenant, queue, millrace.job_size(payload, metadata, NULL) FROM taken
)
SELECT id, queue, priority FROM taken;
