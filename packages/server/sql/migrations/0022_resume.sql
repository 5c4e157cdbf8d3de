-- oldest program: 15
--
-- Workflows that go on after they ended (docs/workflows.md#going-on). A workflow that was never resumed has no row in
-- these tables.

-- One row per resume. `start`: the version of the context that a later resume begins with, which holds what the first
-- step received and what every resume so far has put over it, but no results.
CREATE TABLE millrace.workflow_resumes (
  at timestamptz NOT NULL,
  run integer NOT NULL,
  start integer NOT NULL,
  workflow_id uuid NOT NULL,
  id uuid NOT NULL,
  steps integer[] NOT NULL,                  -- those that it reset, by their place in the definition
  PRIMARY KEY (workflow_id, run)
);

-- The jobs that a step had before its last one. They keep their workflow and name no step, so that the index of one job
-- per step stays.
CREATE TABLE millrace.earlier_jobs (
  run integer NOT NULL,
  workflow_id uuid NOT NULL,
  job_id uuid NOT NULL,
  step text COLLATE "C" NOT NULL,
  PRIMARY KEY (workflow_id, step, run)
);

-- How often it was resumed; null: never.
ALTER TABLE millrace.workflow_runs ADD COLUMN resumes integer;

ALTER TYPE millrace.operation_action ADD VALUE 'resume_workflows';

-- Until when a process holds an operation of a kind that came after the first two. Its `lease_until` is infinite, so
-- that a program that does not know the kind never takes it over.
ALTER TABLE millrace.operations ADD COLUMN held_until timestamptz;
