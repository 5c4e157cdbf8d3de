-- Who is there: which queues workers ask for jobs of, and which tasks the processes of the service run.

-- What is known of a queue beside its jobs. Processes remember in memory when they were asked for jobs of it, and write
-- that down now and then; a queue that nobody asks for any more is forgotten, unless it is paused.
CREATE TABLE millrace.queues (
  paused_at timestamptz,                     -- null: it is not paused
  last_lease_at timestamptz,
  queue text COLLATE "C" PRIMARY KEY
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);

-- The processes that run handlers, each with the names of its tasks. Written at its start and every two minutes;
-- forgotten when nothing was heard of it for a while.
CREATE TABLE millrace.processes (
  seen_at timestamptz NOT NULL,
  id uuid PRIMARY KEY,
  tasks text[] NOT NULL
) WITH (fillfactor = 50);
