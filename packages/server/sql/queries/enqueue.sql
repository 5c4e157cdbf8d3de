-- name: register_tenant
-- Before a tenant's first row: the way from an id back to its tenant (see the tenants table).
INSERT INTO millrace.tenants (tenant, bucket) VALUES ($1, $2) ON CONFLICT (tenant) DO NOTHING;

-- name: create_jobs
-- Any number of jobs of any tenants in one statement: the group commit of single creates, a batch, a workflow's roots.
-- Ids are the database's instant followed by a suffix that the server made, so the answer is the one prefix they share.
-- Most jobs of a statement are alike but for their payload: what they have in common ($1 to $5) is said once a kind,
-- and each names its kind. Where no job has a run_at, metadata, a size worth counting or a delay, those arrays are
-- empty, and unnest gives null.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), input AS MATERIALIZED (
  SELECT (clock.prefix || suffix)::uuid AS id, clock.now, ($1::text[])[kind] AS tenant, ($2::text[])[kind] AS queue,
         ($3::text[])[kind] AS task, ($4::int[])[kind] AS priority, ($5::json[])[kind] AS config,
         coalesce(run_at, clock.now + delay * interval '1 second') AS run_at, payload, metadata, size
  FROM clock, unnest($6::text[], $7::int[], $8::timestamptz[], $9::json[], $10::json[], $11::int[], $12::int[])
    AS given (suffix, kind, run_at, payload, metadata, size, delay)
), stored AS (
  INSERT INTO millrace.jobs (created_at, run_at, priority, id, tenant, queue, task, payload, config, metadata)
  SELECT now, run_at, priority, id, tenant, queue, task, payload, config, metadata FROM input
), queued AS (
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, later, size)
  SELECT coalesce(run_at, now), priority, 0, 0, id, tenant, queue, CASE WHEN run_at > now THEN true END, size FROM input
)
SELECT prefix FROM clock;

-- name: create_alike
-- The same for what nearly every statement brings: jobs that differ in nothing but their payload, due at once.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), input AS MATERIALIZED (
  SELECT (clock.prefix || suffix)::uuid AS id, payload, size
  FROM clock, unnest($6::text[], $7::json[], $8::int[]) AS given (suffix, payload, size)
), stored AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config)
  SELECT now(), $4::int, id, $1::text, $2::text, $3::text, payload, $5::json FROM input
), queued AS (
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, size)
  SELECT now(), $4::int, 0, 0, id, $1::text, $2::text, size FROM input
)
SELECT prefix FROM clock;

-- name: create_keyed_jobs
-- The same under idempotency keys. Whoever inserts the key inserts the job; the others read the winner's id afterwards,
-- in a statement of their own, because this one's snapshot may be older than the winner's commit. Keys are taken in
-- their order, so two such statements can wait for each other but never in a circle.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), input AS MATERIALIZED (
  SELECT (clock.prefix || suffix)::uuid AS id, clock.now, ($1::text[])[kind] AS tenant, ($2::text[])[kind] AS queue,
         ($3::text[])[kind] AS task, ($4::int[])[kind] AS priority, ($5::json[])[kind] AS config,
         coalesce(run_at, clock.now + delay * interval '1 second') AS run_at, payload, metadata, size, key
  FROM clock,
  unnest($6::text[], $7::int[], $8::timestamptz[], $9::json[], $10::json[], $11::int[], $12::int[], $13::text[])
    AS given (suffix, kind, run_at, payload, metadata, size, delay, key)
), won AS (
  INSERT INTO millrace.idempotency_keys (tenant, key, job_id)
  SELECT tenant, key, id FROM input ORDER BY tenant, key
  ON CONFLICT (tenant, key) DO NOTHING
  RETURNING job_id
), stored AS (
  INSERT INTO millrace.jobs (created_at, run_at, priority, id, tenant, queue, task, payload, config, metadata,
                             idempotency_key)
  SELECT now, run_at, priority, id, tenant, queue, task, payload, config, metadata, key
  FROM input JOIN won ON won.job_id = input.id
), queued AS (
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, later, size)
  SELECT coalesce(run_at, now), priority, 0, 0, id, tenant, queue, CASE WHEN run_at > now THEN true END, size
  FROM input JOIN won ON won.job_id = input.id
)
SELECT job_id FROM won;

-- name: jobs_of_keys
-- A kind: the key belongs to another kind of request, and leads to no job (see idempotency.sql).
SELECT asked.ordinal, k.job_id, k.kind
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (tenant, key, ordinal), LATERAL (
  SELECT k.job_id, k.kind FROM millrace.idempotency_keys k WHERE k.tenant = asked.tenant AND k.key = asked.key OFFSET 0
) AS k;
