-- oldest program: 15
--
-- Jobs that a running job has created (docs/durable.md). They carry the mark in their ids that jobs with limits have
-- (docs/adr/0033-limits.md), so that the statements that end them tell their parent. A job without a parent, and one
-- without children, has no row in either table.

-- One row per job that has created others. Whoever ends a child, and the parent when it begins to wait, lock this row;
-- so neither can miss the other. While the parent waits: `awaits` is the checkpoint that will end that, and `pending`
-- how many of the children that it waits for have not ended.
CREATE TABLE millrace.parents (
  pending integer NOT NULL DEFAULT 0,
  parent_id uuid NOT NULL,
  open boolean NOT NULL,                     -- the parent has not ended, or children are left to be cancelled
  tenant text COLLATE "C" NOT NULL,
  awaits text COLLATE "C",
  PRIMARY KEY (parent_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);

CREATE INDEX parents_open ON millrace.parents (parent_id) WHERE open;

-- The children, by the name that their parent has given them. They go with the parent, so that retention of a child
-- loses nothing. `status` to `error`: how it ended; of detached ones that is not kept.
CREATE TABLE millrace.children (
  parent_id uuid NOT NULL,
  child_id uuid NOT NULL,
  status millrace.job_status,
  detached boolean NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  awaited_by text COLLATE "C",               -- the checkpoint of the last wait that was for it
  result json,
  error text,
  PRIMARY KEY (parent_id, name)
) WITH (fillfactor = 80);

-- In this order: while the table is empty all cost the same, and the latest is taken.
CREATE INDEX children_of_parent ON millrace.children (parent_id, child_id);
CREATE UNIQUE INDEX children_by_child ON millrace.children (child_id);
CREATE INDEX children_unfinished ON millrace.children (parent_id, child_id) WHERE status IS NULL AND NOT detached;

-- The names of the children that a job waits for, if it does.
ALTER TABLE millrace.waits ADD COLUMN children text[];
