-- name: take_turn
-- Returns a row to one process per period; the others find that the loop has run. Running a loop twice does no harm.
INSERT INTO millrace.loops (name, last_run_at) VALUES (:loop, now())
ON CONFLICT (name) DO UPDATE SET last_run_at = now()
WHERE loops.last_run_at <= now() - :period_secs * interval '1 second'
RETURNING name;

-- name: keep_turn
-- Extends the turn: no other process can take it until a full period has passed, counted from :from_now_secs from now.
UPDATE millrace.loops SET last_run_at = now() + :from_now_secs * interval '1 second' WHERE name = :loop;

-- name: signs
-- Whether there is anything to sweep: running jobs past their deadline, parents that may have to be woken,
-- steps that wait for signals.
SELECT EXISTS (SELECT FROM millrace.leases WHERE locked_until < now())
         OR EXISTS (SELECT FROM millrace.bundles WHERE locked_until < now()) AS expired,
       EXISTS (SELECT FROM millrace.parents WHERE open) AS parents,
       EXISTS (SELECT FROM millrace.ready WHERE queue = 'millrace:waits' AND later)
         OR EXISTS (SELECT FROM millrace.ready WHERE queue = 'millrace:waits' AND later IS NULL) AS waits;

-- name: expired
-- Running jobs past their deadline, oldest deadline first. These are only candidates: the settlement checks the token
-- and the deadline again. `started` is false only if the pool that claimed the job demonstrably did not start it.
SELECT l.tenant, l.id, l.token, l.bundled, l.retry_count, j.config,
       NOT EXISTS (SELECT FROM millrace.claim_marks m WHERE m.token = l.claim AND l.number > m.reach) AS started
FROM (
  SELECT * FROM (
    SELECT l.tenant, l.id, l.token, false AS bundled, l.retry_count, l.locked_until,
           (left(l.token::text, 32) || '0000')::uuid AS claim, ('x' || right(l.token::text, 4))::bit(16)::int AS number
    FROM millrace.leases l
    UNION ALL
    SELECT b.tenant, member.id, b.token, true, 0, b.locked_until, b.token, coalesce(b.numbers[member.n], member.n)
    FROM millrace.bundles b, unnest(b.ids) WITH ORDINALITY AS member (id, n)
    WHERE get_bit(b.open, member.n::int - 1) = 1
  ) AS running
  WHERE locked_until < now() ORDER BY locked_until LIMIT :max_leases
) AS l,
LATERAL (SELECT j.config FROM millrace.jobs j WHERE j.tenant = l.tenant AND j.id = l.id OFFSET 0) AS j;

-- name: forget_streams
-- Removes watches whose process died before it could remove them, and transitions that nothing watches any more.
WITH stale AS (DELETE FROM millrace.watches WHERE expires_at < now())
DELETE FROM millrace.transitions t
WHERE t.at < now() - interval '1 minute'
  AND NOT EXISTS (SELECT FROM millrace.watches w WHERE w.job_id = t.job_id AND w.expires_at >= now());

-- name: forget_bundles
-- Removes rows whose jobs have all been taken out one by one. Locked rows are skipped and removed next time.
DELETE FROM millrace.bundles b
USING (
  SELECT token, tenant FROM millrace.bundles WHERE position('1' IN open::text) = 0
  ORDER BY token, tenant FOR UPDATE SKIP LOCKED
) AS empty
WHERE b.token = empty.token AND b.tenant = empty.tenant AND position('1' IN b.open::text) = 0;

-- name: forget_claim_marks
-- Removes the marks of claims that hold no jobs any more, left behind by a process that died or that lost the jobs it
-- had not started.
DELETE FROM millrace.claim_marks
WHERE claimed_at < now() - interval '1 minute'
  AND token NOT IN (SELECT token FROM millrace.bundles)
  AND token NOT IN (SELECT (left(token::text, 32) || '0000')::uuid FROM millrace.leases);

-- name: forget_progress
-- Removes what attempts reported that have ended since, :max_rows at most. Locked rows are left for the next time.
WITH stale AS MATERIALIZED (
  SELECT p.job_id, p.token
  FROM millrace.progress p LEFT JOIN LATERAL (
    SELECT l.id FROM millrace.leases l WHERE l.id = p.job_id AND l.token = p.token OFFSET 0
  ) AS l ON true
  WHERE p.at < now() - interval '1 minute' AND l.id IS NULL
  LIMIT :max_rows FOR UPDATE OF p SKIP LOCKED
)
DELETE FROM millrace.progress p
USING stale
WHERE p.job_id = ANY (ARRAY(SELECT job_id FROM stale)) AND p.job_id = stale.job_id AND p.token = stale.token
RETURNING 1;

-- name: forget_presence
-- Processes that are long gone; queues that nobody has asked for since a day ago, and of the others all but the latest
-- :max_queues. A paused queue stays. What workers offered goes after ten minutes.
WITH gone AS (
  DELETE FROM millrace.processes WHERE seen_at < now() - interval '10 minutes'
), silent AS (
  DELETE FROM millrace.offers WHERE seen_at < now() - interval '10 minutes'
)
DELETE FROM millrace.queues
WHERE paused_at IS NULL AND (last_lease_at IS NULL OR last_lease_at < greatest(
  now() - interval '1 day',
  (SELECT q.last_lease_at FROM millrace.queues q
   ORDER BY q.last_lease_at DESC NULLS LAST OFFSET :max_queues::int LIMIT 1)
));
