-- oldest program: 15
--
-- What handlers write while they run (docs/logs.md). A job whose handlers write nothing has no row here.

-- One row per attempt that wrote something: the first 10 attempts keep slots 1 to 10, those that follow take turns in
-- slots 11 to 20. `lines` and `bytes` count all that it wrote; `replaced` the lines of those that had the slot before.
CREATE TABLE millrace.log_totals (
  bytes bigint NOT NULL,
  lines bigint NOT NULL,
  replaced bigint NOT NULL,
  attempt integer NOT NULL,
  slot smallint NOT NULL,
  job_id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  PRIMARY KEY (job_id, slot)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);

-- What is kept of it. A line never changes. It begins `start` bytes into what its attempt wrote, which tells whether it
-- is among the first or the last ones.
CREATE TABLE millrace.log_lines (
  at timestamptz NOT NULL,
  start bigint NOT NULL,
  seq bigint NOT NULL,
  bytes integer NOT NULL,
  attempt integer NOT NULL,
  level smallint NOT NULL,                   -- its place in LOG_LEVELS
  job_id uuid NOT NULL,
  message text NOT NULL,
  fields json,
  PRIMARY KEY (job_id, attempt, seq)
);
