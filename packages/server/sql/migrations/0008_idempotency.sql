-- Keys for more than single jobs. A key belongs to one kind of request. Where the kind is null, the request created one
-- job, and the key lives as long as that job does. Any other key remembers what its request answered with, and expires
-- by itself; its job_id is nil, since no job carries it.

ALTER TABLE millrace.idempotency_keys
  ADD COLUMN kind text,
  ADD COLUMN ids uuid[],               -- what the request created, in the order of its answer
  ADD COLUMN expires_at timestamptz;

-- Keys of single jobs are not in it, and cost what they did.
CREATE INDEX idempotency_keys_by_expiry ON millrace.idempotency_keys (expires_at) WHERE expires_at IS NOT NULL;
