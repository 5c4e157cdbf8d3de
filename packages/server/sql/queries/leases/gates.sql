-- Queues for which an operator has set something. Their claims go through a gate, one at a time: the row of the queue,
-- held until the end of the transaction (docs/adr/0038-queue-limits.md).

-- name: hold_gate
-- First statement of a claim through the gate: waits for the row, in turn, but no longer than :patience_ms. No row: the
-- queue has no settings.
SELECT g.queue FROM millrace.queue_limits g
WHERE g.queue = :queue AND (SELECT set_config('lock_timeout', :patience_ms, true)) IS NOT NULL
FOR NO KEY UPDATE;

-- name: gate_use
-- What the caller may take, and whether by turns. In a snapshot that is younger than the lock, so that what others
-- claimed before is among what runs; the instant is younger too, since the transaction may have waited. Jobs that were
-- bundled before there was a limit count by their bits. A lease that the pool took before then does not name its queue,
-- but its job does. Counting stops where it is full.
SELECT g.running AS most, g.rate_count, g.rate_secs, g.rate_burst, g.tokens, g.waited, g.share,
       clock.at::text AS now,
       extract(epoch FROM clock.at - g.refilled_at)::float8 AS elapsed_secs,
       CASE WHEN g.running IS NULL THEN 0 ELSE (
         SELECT count(*) FROM (
           SELECT FROM millrace.leases l WHERE l.queue = :queue
           UNION ALL
           SELECT FROM millrace.leases l, LATERAL (
             SELECT j.queue FROM millrace.jobs j WHERE j.tenant = l.tenant AND j.id = l.id OFFSET 0
           ) AS j
           WHERE l.queue IS NULL AND l.started_at < g.set_at + interval '1 minute' AND j.queue = :queue
           LIMIT g.running
         ) AS leased
       ) + (
         SELECT coalesce(sum(length(replace(b.open::text, '0', ''))), 0) FROM millrace.bundles b WHERE b.queue = :queue
       ) END::int AS used
FROM millrace.queue_limits g, (SELECT clock_timestamp() AS at OFFSET 0) AS clock WHERE g.queue = :queue;

-- name: keep_gate
-- What is left of the tokens, as of the instant at which the jobs start.
UPDATE millrace.queue_limits
SET tokens = :tokens::float8, refilled_at = greatest(refilled_at, :now::timestamptz), waited = :waited::bool
WHERE queue = :queue;

-- name: put_settings
-- What is not set stays as it is. Turns that end are marked (share = false) until their lines are dissolved; those that
-- begin remember when, since jobs from before are in no line.
INSERT INTO millrace.queue_limits AS g (queue, running, rate_count, rate_secs, rate_burst, share, shared_since, set_at)
VALUES (:queue, :running::int, :count::int, :secs::int, :burst::int, nullif(:share::bool, false),
        CASE WHEN :share::bool THEN now() END, now())
ON CONFLICT (queue) DO UPDATE
SET running = CASE WHEN :sets_running::bool THEN excluded.running ELSE g.running END,
    rate_count = CASE WHEN :sets_rate::bool THEN excluded.rate_count ELSE g.rate_count END,
    rate_secs = CASE WHEN :sets_rate::bool THEN excluded.rate_secs ELSE g.rate_secs END,
    rate_burst = CASE WHEN :sets_rate::bool THEN excluded.rate_burst ELSE g.rate_burst END,
    tokens = CASE WHEN :sets_rate::bool AND excluded.rate_count IS NULL THEN NULL ELSE g.tokens END,
    share = CASE WHEN :share::bool THEN true WHEN :sets_share::bool AND g.share IS NOT NULL THEN false
                 ELSE g.share END,
    shared_since = CASE WHEN :share::bool AND g.share IS NOT TRUE THEN now() ELSE g.shared_since END,
    set_at = now();

-- name: drop_settings
-- A row that says nothing would cost each claim of the queue a gate.
DELETE FROM millrace.queue_limits
WHERE queue = :queue AND running IS NULL AND rate_count IS NULL AND share IS NULL;

-- name: tell_settings
-- Wakes the claims that wait, in every process: what they may take has changed.
SELECT pg_notify('millrace', json_build_object('q', json_build_array(json_build_array(:queue::text)),
                                               'o', json_build_array(:queue::text))::text);

-- name: claims_under_way
-- Transactions that claim at this moment, which have read settings and take from `ready`: all of them, or those of
-- :only that are not over.
SELECT coalesce(json_agg(DISTINCT l.virtualtransaction), '[]')::text AS transactions
FROM pg_locks l JOIN pg_locks taking USING (virtualtransaction)
WHERE l.relation = 'millrace.queue_limits'::regclass AND l.pid <> pg_backend_pid()
  AND taking.relation = 'millrace.ready'::regclass AND taking.mode = 'RowExclusiveLock'
  AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
  AND (:only::text[] IS NULL OR l.virtualtransaction = ANY (:only::text[]));

-- name: queue_settings
-- One row always; null if nothing is set.
SELECT (SELECT s.settings FROM millrace.queue_settings s WHERE s.queue = :queue)::text AS settings;

-- name: limited_queues
-- For processes that never claim from them. `counted`: it matters when a job there ends.
SELECT g.queue, g.running IS NOT NULL OR g.rate_count IS NOT NULL AS counted, g.share
FROM millrace.queue_limits g ORDER BY g.queue LIMIT :max_queues::int;
