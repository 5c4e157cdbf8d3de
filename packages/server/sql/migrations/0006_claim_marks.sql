-- What a pool had not started when its process died goes back undelivered (docs/adr/0016-unstarted-jobs.md).

-- How far into a claim of its own the pool may start: the jobs of the claim are numbered from 1 in claim order, and
-- those above `reach` have demonstrably not been started. No row: any of them may have been. `token` is that of the
-- claim's bundles; its leases have the same token but for the last two bytes, which are their number.
CREATE TABLE millrace.claim_marks (
  claimed_at timestamptz NOT NULL,
  reach integer NOT NULL,
  token uuid PRIMARY KEY
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200,
        autovacuum_vacuum_cost_delay = 0);

-- The numbers of `ids` in their claim; null: it has no others, so that they are 1, 2, 3 and so on. From this version
-- on, `ids` are in claim order.
ALTER TABLE millrace.bundles ADD COLUMN numbers smallint[];
