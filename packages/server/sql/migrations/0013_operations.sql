-- Changes to everything that matches a filter, made in the background, batch by batch.

CREATE TYPE millrace.operation_action AS ENUM ('cancel_jobs', 'replay_dead_letters');
CREATE TYPE millrace.operation_status AS ENUM ('running', 'completed', 'stopped', 'failed');

-- `place` is where the walk has got to; it and the counts move in the transaction of each batch. `before` bounds what
-- may be touched. A process holds an operation until `lease_until`; one that finds it expired goes on with it. The
-- slot is what bounds how many of a tenant run at once.
CREATE TABLE millrace.operations (
  created_at   timestamptz NOT NULL,
  before       timestamptz NOT NULL,
  completed_at timestamptz,
  lease_until  timestamptz,
  counted_at   timestamptz,                -- when the outcome was last counted
  matched      bigint NOT NULL,
  done         bigint NOT NULL DEFAULT 0,
  changed      bigint NOT NULL DEFAULT 0,
  skipped      bigint NOT NULL DEFAULT 0,
  completed    bigint NOT NULL DEFAULT 0,  -- of the jobs that it replayed, as these two
  failed       bigint NOT NULL DEFAULT 0,
  unfinished   bigint NOT NULL DEFAULT 0,
  slot         integer NOT NULL,
  action       millrace.operation_action NOT NULL,
  status       millrace.operation_status NOT NULL,
  exact        boolean NOT NULL,           -- whether `matched` was counted
  id           uuid PRIMARY KEY,
  holder       uuid,                       -- the process that works on it
  counted_to   uuid,                       -- where the count of the outcome goes on
  tenant       text COLLATE "C" NOT NULL,
  filter       json,                       -- as it was given; null: ids were
  scope        json,                       -- the same as the engine reads it
  place        text,
  ids          text[],                     -- those that are left; null: a filter was given
  CHECK ((status = 'running') = (completed_at IS NULL))
) WITH (fillfactor = 50);

CREATE INDEX operations_of_tenant ON millrace.operations (tenant, id) WHERE tenant IS NOT NULL;
CREATE UNIQUE INDEX operations_running ON millrace.operations (tenant, slot) WHERE status = 'running';
CREATE INDEX operations_ended ON millrace.operations (completed_at) WHERE completed_at IS NOT NULL;

-- Jobs that an operation replayed and whose end has not been counted yet. Each is counted once and then removed, so
-- that an outcome is never counted from the start.
CREATE TABLE millrace.operation_jobs (
  operation_id uuid NOT NULL,
  job_id       uuid NOT NULL,
  PRIMARY KEY (operation_id, job_id)
);
