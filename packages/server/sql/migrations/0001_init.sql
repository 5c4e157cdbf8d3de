-- The storage layout. A job's status is the table it stands in:
--
--   ready    pending (never failed) or retrying (failed before): waiting for its instant or for a worker
--   leases   running: held by one worker under one unguessable token
--   bundles  running, many to a row: what the pool of one server claimed at once, under one token
--   done     completed, failed or cancelled: the end
--
-- `jobs` holds what never changes about a job and is never updated. A transition deletes a narrow row from one table and
-- inserts one into the next, in one statement; nothing wide is ever rewritten. See docs/adr/0004-storage-layout.md.

-- The first 64 bits of every id made at an instant: UUID version 7 with the microseconds of the millisecond in rand_a
-- (RFC 9562, method 3). Ids therefore sort as (created_at, id) does, to the microsecond, and a list needs no index on
-- created_at. The other 64 bits, made by the server, are: variant, position in the batch, tenant bucket, randomness.
CREATE FUNCTION millrace.id_prefix(at timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
  SELECT lpad(to_hex(us / 1000), 12, '0') || '7' || lpad(to_hex((us % 1000) * 4096 / 1000), 3, '0')
  FROM (SELECT (extract(epoch FROM at) * 1000000)::bigint AS us) AS instant
$$;

-- The smallest id that a row created at the instant can have: turns a filter on created_at into one on id. Ids begin in 1970, so every
-- instant before comes before all of them.
CREATE FUNCTION millrace.first_id(at timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT (millrace.id_prefix(greatest(at, timestamptz 'epoch')) || '0000000000000000')::uuid $$;

-- In the order of the key of `done`: what nearly every job becomes comes last there, and an index that grows at its end fills its pages.
CREATE TYPE millrace.job_status AS ENUM ('pending', 'running', 'retrying', 'failed', 'cancelled', 'completed');
CREATE TYPE millrace.dead_reason AS ENUM ('max_attempts_exceeded', 'non_retryable', 'handler_not_found');

-- Every tenant that ever created something. An id carries its tenant's bucket, so an id alone leads through this table
-- to its row under the key (tenant, id); no second index on the id is needed to tell 403 from 404.
CREATE TABLE millrace.tenants (
  tenant text COLLATE "C" PRIMARY KEY,
  bucket integer NOT NULL
);
CREATE INDEX tenants_by_bucket ON millrace.tenants (bucket);

CREATE TABLE millrace.jobs (
  created_at timestamptz NOT NULL,
  run_at timestamptz,                       -- null: claimable from created_at on
  priority integer NOT NULL,
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  task text NOT NULL,
  payload json NOT NULL,                    -- json, not jsonb: kept as sent, never searched
  config json,                              -- null: every default
  metadata json,
  idempotency_key text COLLATE "C",
  workflow_id uuid,
  step text,
  PRIMARY KEY (tenant, id)
);
-- A predicate that is always true, here and below: it makes the index useless, and so invisible, to a statement that does not name the queue.
-- While the tables are empty all indexes cost the same, and a plan made then would look a job up by its tenant here, and keep to it.
CREATE INDEX jobs_by_queue ON millrace.jobs (tenant, queue, id) WHERE queue IS NOT NULL;

CREATE TABLE millrace.ready (
  scheduled_at timestamptz NOT NULL,
  started_at timestamptz,                   -- of the latest attempt
  priority integer NOT NULL,
  retry_count integer NOT NULL,
  delivery_count integer NOT NULL,
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  workflow_id uuid,
  error text,                               -- the last reported failure
  PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX ready_in_claim_order ON millrace.ready (queue, priority DESC, scheduled_at, id) WHERE queue IS NOT NULL;
CREATE INDEX ready_retrying ON millrace.ready (tenant, id) WHERE retry_count > 0;

-- No index on locked_until: the janitor reads the whole table, which is as small as what runs at this moment, and every
-- claim and heartbeat is cheaper for it.
CREATE TABLE millrace.leases (
  locked_until timestamptz NOT NULL,
  started_at timestamptz NOT NULL,
  scheduled_at timestamptz,                 -- null: as the job was created
  retry_count integer NOT NULL,
  delivery_count integer NOT NULL,
  id uuid PRIMARY KEY,
  token uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  workflow_id uuid,
  error text
);

-- Jobs of one tenant that a server's own pool claimed together, each for the first time and outside any workflow: what `leases` would say of them
-- is the same for all, so it is said once. `open` has a bit for each of `ids`: 1 while it stands here. Whoever clears a bit has taken the job
-- over; the bits of the row are the only truth, so a statement that had to wait for the row decides by what it then finds. Only completions
-- act on a bundle. Everything else (failure, release, cancellation, reclaim) first moves the job to a lease of its own, under
-- the same token and deadline, and goes on from there. See docs/adr/0012-bundles.md.
CREATE TABLE millrace.bundles (
  locked_until timestamptz NOT NULL,
  started_at timestamptz NOT NULL,
  first_id uuid NOT NULL,
  last_id uuid NOT NULL,
  token uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  open bit varying NOT NULL,
  taken bit varying NOT NULL,               -- what the last statement took
  ids uuid[] NOT NULL,                      -- in order
  PRIMARY KEY (token, tenant),
  CHECK (cardinality(ids) = length(open))
);
-- Random bytes: there is nothing to compress.
ALTER TABLE millrace.bundles ALTER COLUMN ids SET STORAGE EXTERNAL;

CREATE TABLE millrace.done (
  completed_at timestamptz NOT NULL,
  started_at timestamptz,                   -- null: cancelled before the first attempt
  scheduled_at timestamptz,                 -- null: as the job was created
  retry_count integer NOT NULL,
  delivery_count integer NOT NULL,
  status millrace.job_status NOT NULL CHECK (status IN ('completed', 'failed', 'cancelled')),
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  result json,
  error text,
  PRIMARY KEY (tenant, status, id),
  CHECK ((result IS NOT NULL) = (status = 'completed'))
);

CREATE TABLE millrace.idempotency_keys (
  tenant text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  job_id uuid NOT NULL,
  PRIMARY KEY (tenant, key)
);

-- Outlives its job: no foreign key. At most one a job, for ever.
CREATE TABLE millrace.dead_letters (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  created_at timestamptz NOT NULL,
  replayed_at timestamptz,
  job_id uuid NOT NULL UNIQUE,
  replay_job_id uuid,
  reason millrace.dead_reason NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  task text NOT NULL,
  error text,
  CHECK ((replayed_at IS NULL) = (replay_job_id IS NULL))
);
CREATE INDEX dead_letters_by_creation ON millrace.dead_letters (tenant, created_at, id) WHERE tenant IS NOT NULL;

-- Open event streams. While a job is watched, every transition of it is also written to `transitions`, in the statement
-- that makes it; with no row here that costs one look at an empty table a statement.
CREATE TABLE millrace.watches (
  job_id uuid NOT NULL,
  stream uuid NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (job_id, stream)
);

CREATE TABLE millrace.transitions (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  scheduled_at timestamptz,                 -- null: as the job was created
  started_at timestamptz,
  retry_count integer NOT NULL,
  delivery_count integer NOT NULL,
  status millrace.job_status NOT NULL,
  job_id uuid NOT NULL,
  error text,
  result json
);
CREATE INDEX transitions_by_job ON millrace.transitions (job_id, seq);

-- One row a loop that needs to run once a period in the whole fleet, not once in every process.
CREATE TABLE millrace.loops (
  name text PRIMARY KEY,
  last_run_at timestamptz NOT NULL
);

-- The three tables of the queue turn over their whole content in seconds. Left to the defaults, autovacuum would come
-- after a fifth of the table is dead and then take its time.
ALTER TABLE millrace.ready SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2);
ALTER TABLE millrace.leases SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2, fillfactor = 80);
ALTER TABLE millrace.bundles SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2, fillfactor = 50);

-- Every running job, whichever way it is held.
CREATE VIEW millrace.running AS
SELECT l.tenant, l.id, l.token, l.locked_until, l.started_at, l.scheduled_at, l.retry_count, l.delivery_count, l.workflow_id, l.error, false AS bundled
FROM millrace.leases l
UNION ALL
SELECT b.tenant, member.id, b.token, b.locked_until, b.started_at, NULL, 0, 1, NULL, NULL, true
FROM millrace.bundles b, unnest(b.ids) WITH ORDINALITY AS member (id, n)
WHERE get_bit(b.open, member.n::int - 1) = 1;

-- Everything the readers need of a job, whatever table it stands in.
CREATE VIEW millrace.job_records AS
SELECT
  j.tenant, j.id, j.queue, j.task, j.priority, j.payload, j.config, j.metadata, j.idempotency_key, j.workflow_id, j.step, j.created_at,
  coalesce(d.status, CASE WHEN coalesce(l.started_at, b.started_at) IS NOT NULL THEN 'running' WHEN r.retry_count > 0 THEN 'retrying' WHEN r.id IS NOT NULL THEN 'pending' END::millrace.job_status) AS status,
  coalesce(r.scheduled_at, l.scheduled_at, d.scheduled_at, j.run_at, j.created_at) AS scheduled_at,
  coalesce(r.started_at, l.started_at, d.started_at, b.started_at) AS started_at,
  d.completed_at,
  coalesce(r.retry_count, l.retry_count, d.retry_count, CASE WHEN b.started_at IS NOT NULL THEN 0 END) AS retry_count,
  coalesce(r.delivery_count, l.delivery_count, d.delivery_count, CASE WHEN b.started_at IS NOT NULL THEN 1 END) AS delivery_count,
  coalesce(r.error, l.error, d.error) AS error,
  d.result
FROM millrace.jobs j
LEFT JOIN millrace.ready r ON r.tenant = j.tenant AND r.id = j.id
LEFT JOIN millrace.leases l ON l.id = j.id
LEFT JOIN millrace.done d ON d.tenant = j.tenant AND d.status IN ('completed', 'failed', 'cancelled') AND d.id = j.id
-- Bundles are few, and looked through only for a job that is nowhere else.
LEFT JOIN LATERAL (
  SELECT b.started_at FROM millrace.bundles b
  WHERE r.id IS NULL AND l.id IS NULL AND d.id IS NULL
    AND b.tenant = j.tenant AND j.id BETWEEN b.first_id AND b.last_id AND get_bit(b.open, array_position(b.ids, j.id) - 1) = 1
) AS b ON true;
