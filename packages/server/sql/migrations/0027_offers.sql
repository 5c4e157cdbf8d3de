-- oldest program: 15
--
-- What workers say when they ask for jobs: how many they can hold at a time, and which tasks they know. Gathered in
-- memory and written now and then, like when a queue was last asked for; kept for ten minutes. An empty name stands for
-- everybody on the queue who names no tasks.
CREATE TABLE millrace.offers (
  seen_at timestamptz NOT NULL,
  slots integer,
  queue text COLLATE "C" NOT NULL,
  worker text COLLATE "C" NOT NULL,
  tasks json,                                -- an array of names; null: it named none
  PRIMARY KEY (queue, worker)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);
