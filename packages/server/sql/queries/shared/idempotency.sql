-- name: take_key
-- The first statement of the transaction in which a keyed request takes effect. The request that inserts the key goes
-- on. Any other waits here until that transaction has ended, and then finds the key taken, or takes it. A crash undoes
-- both.
INSERT INTO millrace.idempotency_keys (tenant, key, job_id, kind, expires_at, digest)
VALUES (:tenant, :key, '00000000-0000-0000-0000-000000000000', :kind,
        now() + :life_secs::float8 * interval '1 second', :digest::int8)
ON CONFLICT (tenant, key) DO NOTHING
RETURNING key;

-- name: keep_answer
-- The last statement of that transaction.
UPDATE millrace.idempotency_keys SET ids = :ids::uuid[] WHERE tenant = :tenant AND key = :key;

-- name: answer_of_key
SELECT kind, ids, digest::text FROM millrace.idempotency_keys WHERE tenant = :tenant AND key = :key;

-- name: forget_keys
-- Keys that have expired, :max_keys at a time. Those of single jobs go with their jobs; one of a batch's item that
-- outlived its job has expired too.
WITH gone AS (
  DELETE FROM millrace.idempotency_keys WHERE ctid = ANY (ARRAY(
    SELECT k.ctid FROM millrace.idempotency_keys k
    WHERE k.expires_at < now() ORDER BY k.expires_at LIMIT :max_keys FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS removed FROM gone;
