-- name: create_jobs
-- Creates any number of jobs for any tenants in one statement: the group commit of single creates, or a batch. An id is
-- the database's time followed by a suffix from the server, so the answer is the one prefix that all ids share. Most
-- jobs of a statement differ only in their payload: what they have in common (:tenants to :configs, one element per
-- kind) is sent once, and each job names its kind. If no job has a run_at, metadata, a size worth counting or a delay,
-- those arrays are empty, and unnest returns null.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), input AS MATERIALIZED (
-- include: columns_by_kind
  FROM clock, unnest(:suffixes::text[], :kinds::int[], :run_ats::timestamptz[], :payloads::json[], :metadata::json[],
                     :sizes::int[], :delays::int[])
    AS given (suffix, kind, run_at, payload, metadata, size, delay)
), stored AS (
-- include: store_input
), queued AS (
-- include: queue_input
)
SELECT prefix FROM clock;

-- name: create_varied
-- The same for jobs of many kinds, each of which brings everything itself: to find the k-th of texts, PostgreSQL walks
-- along those before it, which took a third of the time for a thousand jobs of as many kinds.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), input AS MATERIALIZED (
  SELECT (clock.prefix || suffix)::uuid AS id, clock.now, tenant, queue, task, priority, config,
         coalesce(run_at, clock.now + delay * interval '1 second') AS run_at, payload, metadata, size
  FROM clock, unnest(:tenants::text[], :queues::text[], :tasks::text[], :priorities::int[], :configs::json[],
                     :suffixes::text[], :run_ats::timestamptz[], :payloads::json[], :metadata::json[], :sizes::int[],
                     :delays::int[])
    AS given (tenant, queue, task, priority, config, suffix, run_at, payload, metadata, size, delay)
), stored AS (
-- include: store_input
), queued AS (
-- include: queue_input
)
SELECT prefix FROM clock;

-- name: create_alike
-- The same for the usual case: jobs that differ only in their payload and are due at once.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), input AS MATERIALIZED (
  SELECT (clock.prefix || suffix)::uuid AS id, payload, size
  FROM clock, unnest(:suffixes::text[], :payloads::json[], :sizes::int[]) AS given (suffix, payload, size)
), stored AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config)
  SELECT now(), :priority::int, id, :tenant::text, :queue::text, :task::text, payload, :config::json FROM input
), queued AS (
-- include: queue_alike
)
SELECT prefix FROM clock;

-- name: create_keyed_jobs
-- The same under idempotency keys. The statement that inserts the key inserts the job; the others read the winner's id
-- afterwards, in a separate statement, because this one's snapshot may be older than the winner's commit. Keys are
-- inserted in sorted order, so one such statement may wait for another, but they cannot deadlock. The answer is the
-- prefix and, only if some keys were taken, which jobs were created: a row for each would cost more than its key.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), input AS MATERIALIZED (
-- include: columns_by_kind
-- include: from_keyed
), won AS (
  INSERT INTO millrace.idempotency_keys (tenant, key, job_id, digest)
  SELECT tenant, key, id, digest FROM input ORDER BY tenant, key
  ON CONFLICT (tenant, key) DO NOTHING
  RETURNING job_id
), stored AS (
-- include: store_won
), queued AS (
-- include: queue_won
)
-- include: answer_won

-- name: create_fresh_alike
-- The usual case: jobs as in create_alike, under keys that nobody has used, as clients make them up for each request. A
-- key that was used fails the statement. It neither looks for the keys first nor asks afterwards which jobs to store:
-- that takes PostgreSQL 27 µs per job where create_keyed_jobs takes 36, and create_alike 20 without a key.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), input AS MATERIALIZED (
  SELECT (clock.prefix || suffix)::uuid AS id, payload, size, key, digest
  FROM clock, unnest(:suffixes::text[], :payloads::json[], :sizes::int[], :keys::text[], :digests::int8[])
    AS given (suffix, payload, size, key, digest)
), taken AS (
  INSERT INTO millrace.idempotency_keys (tenant, key, job_id, digest)
  SELECT :tenant::text, key, id, digest FROM input ORDER BY key
), stored AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config, idempotency_key)
  SELECT now(), :priority::int, id, :tenant::text, :queue::text, :task::text, payload, :config::json, key FROM input
), queued AS (
-- include: queue_alike
)
SELECT prefix, NULL::text AS created FROM clock;

-- name: create_fresh_items
-- The items of a batch under keys of their own that nobody has used. A key that was used fails the statement. These
-- keys outlive a job that is removed within a week (lasts): whoever relays an outbox may repeat its entries that late.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), input AS MATERIALIZED (
-- include: columns_by_kind
-- include: from_keyed
), taken AS (
  INSERT INTO millrace.idempotency_keys (tenant, key, job_id, lasts, digest)
  SELECT tenant, key, id, true, digest FROM input ORDER BY tenant, key
), stored AS (
  INSERT INTO millrace.jobs (created_at, run_at, priority, id, tenant, queue, task, payload, config, metadata,
                             idempotency_key)
  SELECT now, run_at, priority, id, tenant, queue, task, payload, config, metadata, key FROM input
), queued AS (
-- include: queue_input
)
SELECT prefix FROM clock;

-- name: create_fresh_alike_items
-- The same for items that differ only in their payload and are due at once; see create_fresh_alike.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), input AS MATERIALIZED (
  SELECT (clock.prefix || suffix)::uuid AS id, payload, size, key, digest
  FROM clock, unnest(:suffixes::text[], :payloads::json[], :sizes::int[], :keys::text[], :digests::int8[])
    AS given (suffix, payload, size, key, digest)
), taken AS (
  INSERT INTO millrace.idempotency_keys (tenant, key, job_id, lasts, digest)
  SELECT :tenant::text, key, id, true, digest FROM input ORDER BY key
), stored AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config, idempotency_key)
  SELECT now(), :priority::int, id, :tenant::text, :queue::text, :task::text, payload, :config::json, key FROM input
), queued AS (
-- include: queue_alike
)
SELECT prefix FROM clock;

-- name: create_keyed_items
-- The same where some of the keys were used; otherwise as create_keyed_jobs.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), input AS MATERIALIZED (
-- include: columns_by_kind
-- include: from_keyed
), won AS (
  INSERT INTO millrace.idempotency_keys (tenant, key, job_id, lasts, digest)
  SELECT tenant, key, id, true, digest FROM input ORDER BY tenant, key
  ON CONFLICT (tenant, key) DO NOTHING
  RETURNING job_id
), stored AS (
-- include: store_won
), queued AS (
-- include: queue_won
)
-- include: answer_won

-- name: jobs_of_keys
-- A kind: the key belongs to another kind of request, and leads to no job (see shared/idempotency.sql).
SELECT asked.ordinal, k.job_id, k.kind, k.digest::text
FROM unnest(:tenants::text[], :keys::text[]) WITH ORDINALITY AS asked (tenant, key, ordinal), LATERAL (
  SELECT k.job_id, k.kind, k.digest FROM millrace.idempotency_keys k
  WHERE k.tenant = asked.tenant AND k.key = asked.key OFFSET 0
) AS k;

-- fragment: columns_by_kind
  SELECT (clock.prefix || suffix)::uuid AS id, clock.now, (:tenants::text[])[kind] AS tenant,
         (:queues::text[])[kind] AS queue, (:tasks::text[])[kind] AS task, (:priorities::int[])[kind] AS priority,
         (:configs::json[])[kind] AS config, coalesce(run_at, clock.now + delay * interval '1 second') AS run_at,
         payload, metadata, size

-- fragment: store_input
  INSERT INTO millrace.jobs (created_at, run_at, priority, id, tenant, queue, task, payload, config, metadata)
  SELECT now, run_at, priority, id, tenant, queue, task, payload, config, metadata FROM input

-- fragment: queue_input
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, later, size)
  SELECT coalesce(run_at, now), priority, 0, 0, id, tenant, queue, CASE WHEN run_at > now THEN true END, size FROM input

-- fragment: queue_alike
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, size)
  SELECT now(), :priority::int, 0, 0, id, :tenant::text, :queue::text, size FROM input

-- fragment: from_keyed
       , key, digest
  FROM clock, unnest(:suffixes::text[], :kinds::int[], :run_ats::timestamptz[], :payloads::json[], :metadata::json[],
                     :sizes::int[], :delays::int[], :keys::text[], :digests::int8[])
    AS given (suffix, kind, run_at, payload, metadata, size, delay, key, digest)

-- fragment: store_won
  INSERT INTO millrace.jobs (created_at, run_at, priority, id, tenant, queue, task, payload, config, metadata,
                             idempotency_key)
  SELECT now, run_at, priority, id, tenant, queue, task, payload, config, metadata, key
  FROM input JOIN won ON won.job_id = input.id

-- fragment: queue_won
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, later, size)
  SELECT coalesce(run_at, now), priority, 0, 0, id, tenant, queue, CASE WHEN run_at > now THEN true END, size
  FROM input JOIN won ON won.job_id = input.id

-- fragment: answer_won
SELECT clock.prefix, won.created FROM clock, (
  SELECT CASE WHEN count(*) < cardinality(:suffixes::text[]) THEN coalesce(array_agg(job_id)::text, '{}') END AS created
  FROM won
) AS won
