-- Steps that wait for signals, and workflows whose rules not every program knows (docs/adr/0039-step-rules.md).

-- name: declare_rules
-- Until the end of the transaction: the trigger check_rules lets it change such workflows.
SELECT set_config('millrace.rules', :rules, true);

-- name: lock_signals
-- As lock_signal in durable/waits.sql, for several: in the order of the locks, so that two transactions that want the
-- same ones do not wait for each other.
SELECT pg_advisory_xact_lock(given.lock) FROM (
  SELECT DISTINCT hashtextextended(signal, 7034902) AS lock FROM unnest(:signals::text[]) AS given (signal)
  ORDER BY lock OFFSET 0
) AS given;

-- name: open_waits
-- Jobs of waiting steps, just created in this transaction: each takes the oldest stored signal, which becomes its
-- checkpoint, and is due; otherwise it sleeps until its deadline, with an open wait. Of several that wait for the same
-- signal the first takes the first. Nobody claims such a job before its end, so its workflow is marked as running here.
-- The caller holds the locks of the signals.
WITH wait AS MATERIALIZED (
  SELECT given.*, j.id, now() + given.secs * interval '1 second' AS until,
         row_number() OVER (PARTITION BY given.tenant, given.signal, given.key ORDER BY given.n) AS place
  FROM unnest(:tenants::text[], :workflow_ids::uuid[], :steps::text[], :signals::text[], :keys::text[], :asks::json[],
              :secs::int[])
    WITH ORDINALITY AS given (tenant, workflow_id, step, signal, key, ask, secs, n),
  LATERAL (
    SELECT j.id FROM millrace.jobs j WHERE j.workflow_id = given.workflow_id AND j.step = given.step OFFSET 0
  ) AS j
), offered AS MATERIALIZED (
  SELECT wait.id, wait.tenant, wait.signal, s.at, ('{"value":' || s.value::text || '}')::json AS value
  FROM wait, LATERAL (
    SELECT s.ctid AS at, s.value FROM millrace.signals s
    WHERE s.tenant = wait.tenant AND s.name = wait.signal AND s.key = wait.key AND s.expires_at > now()
    ORDER BY s.seq OFFSET wait.place - 1 LIMIT 1
  ) AS s
), taken AS (
  DELETE FROM millrace.signals s WHERE s.ctid = ANY (ARRAY(SELECT at FROM offered))
), answered AS (
  INSERT INTO millrace.checkpoints (at, attempt, job_id, name, value) SELECT now(), 0, id, signal, value FROM offered
), counted AS (
  INSERT INTO millrace.checkpoint_totals (bytes, count, job_id, tenant)
  SELECT octet_length(value::text), 1, id, tenant FROM offered
), open AS MATERIALIZED (
  SELECT * FROM wait WHERE NOT EXISTS (SELECT FROM offered WHERE offered.id = wait.id)
), waiting AS (
  INSERT INTO millrace.waits (since, until, job_id, open, tenant, checkpoint, signal, key, ask)
  SELECT now(), until, id, true, tenant, signal, signal, key, ask FROM open
), place AS MATERIALIZED (
  SELECT open.id, open.until, r.at FROM open,
  LATERAL (SELECT r.ctid AS at FROM millrace.ready r WHERE r.tenant = open.tenant AND r.id = open.id OFFSET 0) AS r
), asleep AS (
  UPDATE millrace.ready r SET scheduled_at = place.until, later = true
  FROM place WHERE r.ctid = ANY (ARRAY(SELECT at FROM place)) AND r.id = place.id
)
UPDATE millrace.workflow_runs r SET status = 'running', started_at = now()
WHERE r.ctid = ANY (ARRAY(
    SELECT begun.at FROM (SELECT DISTINCT tenant, workflow_id FROM wait) AS flow,
    LATERAL (
      SELECT r.ctid AS at FROM millrace.workflow_runs r
      WHERE r.tenant = flow.tenant AND r.id = flow.workflow_id AND r.status = 'created' OFFSET 0
    ) AS begun
  )) AND r.status = 'created';
