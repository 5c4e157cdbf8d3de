-- oldest program: 15
--
-- Jobs in the order in which they ended (docs/adr/0044-ends-in-order.md). An index over `done` would be paid for by
-- every job; so ends are recorded only while somebody asks for them, of the tenant who asks.

-- One row per tenant who has asked lately. A new `course` says that ends may be missing between it and the last one.
CREATE TABLE millrace.followed (
  until timestamptz NOT NULL,
  course uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant)
) WITH (fillfactor = 50);

-- Kept for minutes. `xid` tells which snapshots see an end: commits become visible in another order than they begin.
CREATE TABLE millrace.recent_ends (
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  seq bigint GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL,
  job_id uuid NOT NULL,
  status millrace.job_status NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, xid, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000);
