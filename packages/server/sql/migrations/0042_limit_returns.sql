-- oldest program: 15
--
-- Room that was given back where there is plenty of it (docs/adr/0053-room-returned-in-one-row.md): a row per
-- settlement and tenant instead of a note per limit. Nobody needs that room yet. A sweep makes notes of it.
CREATE TABLE millrace.limit_returns (
  tenant text COLLATE "C" NOT NULL,
  limit_ids uuid[] NOT NULL,
  -- How much each of them got back. None is there twice.
  counts integer[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0);

-- What was given back, and is not counted in yet.
CREATE VIEW millrace.given_back AS
SELECT n.limit_id, n.given_back AS n FROM millrace.limit_notes n
UNION ALL
SELECT each.id, each.n FROM millrace.limit_returns r, unnest(r.limit_ids, r.counts) AS each (id, n);
