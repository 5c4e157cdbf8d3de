-- oldest program: 15
--
-- Durable jobs (docs/durable.md): values that a job has stored under names, what it waits for, and signals that nobody
-- has taken yet. A job that uses none of it has no row in any of these tables.

-- Named values of a job. The first one under a name stands; none is ever changed. They go with their job.
CREATE TABLE millrace.checkpoints (
  at timestamptz NOT NULL,
  attempt integer NOT NULL,                  -- the delivery that stored it
  job_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  value json NOT NULL,
  PRIMARY KEY (job_id, name)
);

-- How many a job has, and how large they are together: a sum per insert would read all of them.
CREATE TABLE millrace.checkpoint_totals (
  bytes bigint NOT NULL,
  count integer NOT NULL,
  job_id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  PRIMARY KEY (job_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);

-- One row per wait of a job, by the checkpoint that will end it: its deadline stands however often the job comes back
-- to it. At most one wait of a job is open; the others are those of code that has changed since.
CREATE TABLE millrace.waits (
  since timestamptz NOT NULL,
  until timestamptz NOT NULL,
  job_id uuid NOT NULL,
  open boolean NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  checkpoint text COLLATE "C" NOT NULL,
  signal text COLLATE "C",                   -- null: it sleeps
  key text COLLATE "C",
  ask json,
  PRIMARY KEY (job_id, checkpoint),
  CHECK ((signal IS NULL) = (key IS NULL))
) WITH (fillfactor = 80);

CREATE INDEX waits_by_signal ON millrace.waits (tenant, signal, key, since, job_id) WHERE open AND signal IS NOT NULL;
CREATE INDEX waits_of_tenant ON millrace.waits (tenant, since, job_id) WHERE open AND signal IS NOT NULL;

-- Signals that nobody has waited for yet, in the order in which they came.
CREATE TABLE millrace.signals (
  seq bigint GENERATED ALWAYS AS IDENTITY,
  expires_at timestamptz NOT NULL,           -- of a signal to one job: never; it goes when the job has ended
  job_id uuid,                               -- of a signal to one job
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value json NOT NULL,
  PRIMARY KEY (tenant, name, key, seq)
);

CREATE INDEX signals_by_expiry ON millrace.signals (expires_at);
CREATE INDEX signals_of_jobs ON millrace.signals (job_id) WHERE job_id IS NOT NULL;

-- Kept among the last twenty attempts only: a job that sleeps a hundred times must not crowd out its failures.
ALTER TYPE millrace.attempt_outcome ADD VALUE 'suspended';
