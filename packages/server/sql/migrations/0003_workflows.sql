-- Workflows, laid out as jobs are: what never changes, what is going on, what has ended.
--
-- The run of a workflow is one narrow row. `state` holds a letter a step (domain/dag.ts); `context` is merged only when a step needs it,
-- and `unmerged` names, in order, the steps that completed since. So a wide fan-in costs as much as its steps, not their square.

CREATE TYPE millrace.workflow_status AS ENUM ('created', 'running', 'completed', 'failed', 'partially_failed', 'cancelled');

CREATE TABLE millrace.workflows (
  created_at timestamptz NOT NULL,
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  name text NOT NULL,
  definition json NOT NULL,                 -- the steps, as the API shows them
  metadata json,
  PRIMARY KEY (tenant, id)
);

-- status is in no index: going from created to running touches the row alone.
CREATE TABLE millrace.workflow_runs (
  started_at timestamptz,
  status millrace.workflow_status NOT NULL CHECK (status IN ('created', 'running')),
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  state text NOT NULL,
  unmerged integer[] NOT NULL DEFAULT '{}',
  context json NOT NULL,
  PRIMARY KEY (tenant, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE millrace.workflow_ends (
  completed_at timestamptz NOT NULL,
  started_at timestamptz,
  status millrace.workflow_status NOT NULL CHECK (status NOT IN ('created', 'running')),
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  state text NOT NULL,
  context json NOT NULL,
  PRIMARY KEY (tenant, status, id)
);

-- One job a step, for ever.
CREATE UNIQUE INDEX jobs_of_workflow ON millrace.jobs (workflow_id, step) WHERE workflow_id IS NOT NULL;

CREATE VIEW millrace.workflow_records AS
SELECT
  w.tenant, w.id, w.name, w.definition, w.metadata, w.created_at,
  coalesce(r.status, e.status) AS status,
  coalesce(r.started_at, e.started_at) AS started_at,
  e.completed_at,
  coalesce(r.state, e.state) AS state,
  coalesce(r.context, e.context) AS context,
  coalesce(r.unmerged, '{}') AS unmerged
FROM millrace.workflows w
LEFT JOIN millrace.workflow_runs r ON r.tenant = w.tenant AND r.id = w.id
LEFT JOIN millrace.workflow_ends e
  ON e.tenant = w.tenant AND e.status IN ('completed', 'failed', 'partially_failed', 'cancelled') AND e.id = w.id;
