-- The invariants, as queries that return no rows if all is well. All of them run in one read-only snapshot, so that a
-- database under load can be checked: a job that is moving between tables is never seen in both or in neither. Each row
-- names the subject and says what is wrong with it.

-- name: job_is_in_one_table
SELECT j.tenant || '/' || j.id AS subject,
       format('is in %s tables: ready %s, running %s, done %s', total.n, r.n, l.n, d.n) AS finding
FROM millrace.jobs j
LEFT JOIN (SELECT tenant, id, count(*) AS n FROM millrace.ready GROUP BY tenant, id) r
  ON r.tenant = j.tenant AND r.id = j.id
LEFT JOIN (SELECT tenant, id, count(*) AS n FROM millrace.running GROUP BY tenant, id) l
  ON l.tenant = j.tenant AND l.id = j.id
LEFT JOIN (SELECT tenant, id, count(*) AS n FROM millrace.done GROUP BY tenant, id) d
  ON d.tenant = j.tenant AND d.id = j.id,
LATERAL (SELECT coalesce(r.n, 0) + coalesce(l.n, 0) + coalesce(d.n, 0) AS n) AS total
WHERE total.n <> 1;

-- name: state_has_its_job
SELECT s.tenant || '/' || s.id AS subject, 'a row in ' || s.place || ' without its job' AS finding
FROM (
  SELECT tenant, id, 'ready' AS place FROM millrace.ready
  UNION ALL SELECT tenant, id, 'leases' FROM millrace.leases
  UNION ALL SELECT b.tenant, unnest(b.ids), 'bundles' FROM millrace.bundles b WHERE position('1' IN b.open::text) > 0
  UNION ALL SELECT tenant, id, 'done' FROM millrace.done
) AS s
WHERE NOT EXISTS (SELECT FROM millrace.jobs j WHERE j.tenant = s.tenant AND j.id = s.id);

-- name: failed_job_has_its_dead_letter
SELECT d.tenant || '/' || d.id AS subject, 'failed without a dead letter' AS finding
FROM millrace.done d
WHERE d.status = 'failed' AND NOT EXISTS (SELECT FROM millrace.dead_letters x WHERE x.job_id = d.id);

-- name: dead_letter_belongs_to_a_failed_job
SELECT 'dead letter ' || x.id AS subject, 'its job ' || x.job_id || ' has not failed' AS finding
FROM millrace.dead_letters x
JOIN millrace.jobs j ON j.tenant = x.tenant AND j.id = x.job_id
WHERE NOT EXISTS (SELECT FROM millrace.done d WHERE d.tenant = x.tenant AND d.status = 'failed' AND d.id = x.job_id);

-- name: retries_stay_within_budget
SELECT rec.tenant || '/' || rec.id AS subject,
       format('retry_count %s, delivery_count %s, max_retries %s, %s',
              rec.retry_count, rec.delivery_count, budget.n, rec.status) AS finding
FROM millrace.job_records rec, LATERAL (SELECT coalesce((rec.config ->> 'max_retries')::int, 3) AS n) AS budget
WHERE rec.retry_count > budget.n
   OR rec.delivery_count < rec.retry_count + (rec.status IN ('running', 'completed', 'failed'))::int;

-- name: no_lease_is_long_overdue
-- The janitor runs every five seconds; two more allow for a busy machine.
SELECT l.tenant || '/' || l.id AS subject, format('overdue by %s', now() - l.locked_until) AS finding
FROM millrace.running l WHERE l.locked_until < now() - interval '7 seconds';

-- name: id_agrees_with_its_row
SELECT j.tenant || '/' || j.id AS subject,
       'the id does not carry created_at, or its bucket is not the one its tenant is registered under' AS finding
FROM millrace.jobs j LEFT JOIN millrace.tenants t ON t.tenant = j.tenant
WHERE replace(left(j.id::text, 18), '-', '') <> millrace.id_prefix(j.created_at)
   OR t.bucket IS NULL OR lpad(to_hex(t.bucket), 4, '0') <> substr(j.id::text, 25, 4);

-- name: tenant_belongs_here
-- A tenant whose bucket is outside the range of this database belongs to another one.
SELECT t.tenant AS subject, format('has the bucket %s, this database holds %s to %s', t.bucket, c.first_bucket,
                                   c.last_bucket) AS finding
FROM millrace.tenants t, millrace.cell c
WHERE t.bucket NOT BETWEEN c.first_bucket AND c.last_bucket;

-- name: key_leads_to_its_job
-- The key of any other kind of request remembers what that created. One that expires has outlived its job.
SELECT k.tenant || '/' || k.key AS subject,
       CASE WHEN k.kind IS NULL THEN 'names a job that does not carry the key' ELSE 'has no answer' END AS finding
FROM millrace.idempotency_keys k
WHERE CASE WHEN k.kind IS NOT NULL THEN k.ids IS NULL WHEN k.expires_at IS NOT NULL THEN false ELSE NOT EXISTS (
  SELECT FROM millrace.jobs j WHERE j.tenant = k.tenant AND j.id = k.job_id AND j.idempotency_key = k.key
) END;

-- name: occurrence_has_one_job
SELECT j.tenant || '/' || j.idempotency_key AS subject, count(*) || ' jobs' AS finding
FROM millrace.jobs j WHERE j.idempotency_key IS NOT NULL
GROUP BY j.tenant, j.idempotency_key HAVING count(*) > 1;

-- name: workflow_is_in_one_table
SELECT w.tenant || '/' || w.id AS subject, format('runs %s, ends %s', r.n, e.n) AS finding
FROM millrace.workflows w,
LATERAL (SELECT count(*) AS n FROM millrace.workflow_runs r WHERE r.tenant = w.tenant AND r.id = w.id) AS r,
LATERAL (SELECT count(*) AS n FROM millrace.workflow_ends e
         WHERE e.tenant = w.tenant AND e.id = w.id
           AND e.status IN ('completed', 'failed', 'partially_failed', 'cancelled')) AS e
WHERE r.n + e.n <> 1;

-- name: ended_workflow_has_no_live_step
SELECT e.tenant || '/' || e.id AS subject, 'ended, but step ' || j.step || ' has not' AS finding
FROM millrace.workflow_ends e JOIN millrace.jobs j ON j.workflow_id = e.id
WHERE EXISTS (SELECT FROM millrace.ready r WHERE r.tenant = j.tenant AND r.id = j.id)
   OR EXISTS (SELECT FROM millrace.leases l WHERE l.id = j.id)
UNION ALL
SELECT e.tenant || '/' || e.id, 'ended with unfinished steps: ' || e.state
FROM millrace.workflow_ends e WHERE e.state ~ '[bq]';

-- name: running_workflow_goes_on
-- A run waits for its enqueued steps and for nothing else: if none of them is live, it waits forever.
SELECT r.tenant || '/' || r.id AS subject,
       format('%s steps enqueued, %s of their jobs live', counted.enqueued, counted.live) AS finding
FROM millrace.workflow_runs r, LATERAL (
  SELECT length(r.state) - length(replace(r.state, 'q', '')) AS enqueued,
         (SELECT count(*) FROM millrace.jobs j WHERE j.workflow_id = r.id
            AND (EXISTS (SELECT FROM millrace.ready x WHERE x.tenant = j.tenant AND x.id = j.id)
              OR EXISTS (SELECT FROM millrace.leases x WHERE x.id = j.id))) AS live
) AS counted
WHERE counted.enqueued = 0 OR counted.enqueued <> counted.live;

-- name: waiting_step_can_be_told
-- The job of a step that waits for a signal sleeps until its deadline, and its wait is open: otherwise no signal could
-- end it.
SELECT r.tenant || '/' || r.id AS subject, 'waits for a signal that nobody can send to it' AS finding
FROM millrace.ready r
WHERE r.queue = 'millrace:waits' AND r.scheduled_at > now()
  AND NOT EXISTS (SELECT FROM millrace.waits w WHERE w.job_id = r.id AND w.open)
  AND NOT EXISTS (SELECT FROM millrace.checkpoints c WHERE c.job_id = r.id);

-- name: step_has_its_context
-- Every context version that a job, a run or an ended workflow names must be stored.
SELECT j.tenant || '/' || j.id AS subject,
       format('names version %s of a context that is not stored', j.context) AS finding
FROM millrace.jobs j
WHERE j.context IS NOT NULL AND NOT EXISTS (
  SELECT FROM millrace.workflow_contexts c WHERE c.workflow_id = j.workflow_id AND c.version = j.context
)
UNION ALL
SELECT w.tenant || '/' || w.id, format('its current context is version %s, which is not stored', w.version)
FROM (
  SELECT tenant, id, version FROM millrace.workflow_runs WHERE context IS NULL
  UNION ALL SELECT tenant, id, version FROM millrace.workflow_ends WHERE context IS NULL
) AS w
WHERE NOT EXISTS (SELECT FROM millrace.workflow_contexts c WHERE c.workflow_id = w.id AND c.version = w.version);

-- name: context_has_its_workflow
SELECT 'context ' || c.workflow_id || '/' || c.version AS subject, 'belongs to no workflow' AS finding
FROM millrace.workflow_contexts c
WHERE NOT EXISTS (SELECT FROM millrace.workflow_runs r WHERE r.id = c.workflow_id)
  AND NOT EXISTS (SELECT FROM millrace.workflow_ends e WHERE e.id = c.workflow_id);

-- name: earlier_job_was_set_aside
-- The jobs that a step had before a resume have ended, belong to its workflow and name no step.
SELECT e.workflow_id || '/' || e.step || '/' || e.run AS subject,
       CASE WHEN j.id IS NULL THEN 'names a job that is not there'
            WHEN j.workflow_id IS DISTINCT FROM e.workflow_id THEN 'names a job of another workflow'
            WHEN j.step IS NOT NULL THEN 'names a job that still has a step'
            ELSE 'names a job that has not ended' END AS finding
FROM millrace.earlier_jobs e
LEFT JOIN millrace.workflows w ON w.id = e.workflow_id
LEFT JOIN millrace.jobs j ON j.tenant = w.tenant AND j.id = e.job_id
WHERE j.id IS NULL OR j.workflow_id IS DISTINCT FROM e.workflow_id OR j.step IS NOT NULL
   OR NOT EXISTS (
     SELECT FROM millrace.done d
     WHERE d.tenant = j.tenant AND d.status IN ('completed', 'failed', 'cancelled') AND d.id = j.id
   );

-- name: enabled_cron_has_a_next_run
SELECT c.tenant || '/' || c.id AS subject, 'enabled without a next firing' AS finding
FROM millrace.crons c WHERE c.enabled AND c.next_run_at IS NULL;

-- name: limit_counts_what_holds_room
-- Room is taken and given back in the transactions that admit jobs and end their attempts, so in any snapshot a limit
-- counts exactly the jobs that hold it, apart from what was given back and is not counted in yet.
SELECT l.tenant || '/' || l.queue || '/' || l.key AS subject,
       format('counts %s running, but %s hold room', l.running - coalesce(note.n, 0), coalesce(holds.n, 0)) AS finding
FROM millrace.limits l
LEFT JOIN (SELECT limit_id, sum(n) AS n FROM millrace.given_back GROUP BY limit_id) AS note
  ON note.limit_id = l.id
LEFT JOIN (
  SELECT each.id, count(*) AS n
  FROM millrace.jobs j, unnest(j.limits) AS each (id)
  WHERE j.limits IS NOT NULL AND (
    j.id IN (SELECT x.id FROM millrace.running x)
    OR EXISTS (
      SELECT FROM millrace.ready r
      WHERE r.tenant = j.tenant AND r.id = j.id AND millrace.holds_room(r.later, r.waits_for, r.limits)
    )
  )
  GROUP BY each.id
) AS holds ON holds.id = l.id
WHERE l.running - coalesce(note.n, 0) <> coalesce(holds.n, 0);

-- name: waiting_job_waits_for_room
-- A job in the line of a limit is let in by whoever gives room back there, or because of a note or a return that is
-- not counted in yet: without any of them it would wait for ever.
SELECT r.tenant || '/' || r.id AS subject,
       CASE WHEN l.id IS NULL THEN 'waits for a limit that does not exist'
            ELSE format('waits for %s, of which %s of %s run', l.key, l.running, l.most) END AS finding
FROM millrace.ready r LEFT JOIN millrace.limits l ON l.id = r.waits_for
WHERE r.waits_for = ANY (r.limits)
  AND (l.id IS NULL OR NOT l.waiting OR (l.running < coalesce(l.most, 2147483647) AND l.next_at IS NULL))
  AND NOT EXISTS (SELECT FROM millrace.given_back g WHERE g.limit_id = r.waits_for);

-- name: waiting_job_has_a_turn
-- A job in the line of its tenant is served while tenants take turns on its queue, or while the lines are dissolved.
SELECT r.tenant || '/' || r.id AS subject, 'waits for its turn on a queue without turns' AS finding
FROM millrace.ready r
WHERE r.waits_for = millrace.share_line(r.queue, r.tenant)
  AND NOT EXISTS (SELECT FROM millrace.queue_limits g WHERE g.queue = r.queue AND g.share IS NOT NULL);

-- name: waiting_job_is_in_a_line
-- Whatever waits in a line waits for a limit that it names, or for the turn of its tenant, and no claim finds it where
-- the other jobs are.
SELECT r.tenant || '/' || r.id AS subject,
       CASE WHEN r.later IS DISTINCT FROM false THEN 'is in a line and outside'
            ELSE 'waits in a line that is neither of its limits nor of its tenant' END AS finding
FROM millrace.ready r
WHERE r.waits_for IS NOT NULL AND (
  r.later IS DISTINCT FROM false
  OR r.waits_for <> ALL (coalesce(r.limits, '{}')) AND r.waits_for <> millrace.share_line(r.queue, r.tenant)
);

-- What follows is done by sweeps, within seconds: a sweep of limits has run since then, at the instant that `loops` has
-- of it.

-- name: sleeping_job_is_woken
-- A job with limits that is not due yet sleeps outside all lines. It joins one when it is due.
SELECT r.tenant || '/' || r.id AS subject, format('sleeps, but has been due since %s', r.scheduled_at) AS finding
FROM millrace.ready r
WHERE NOT r.later AND r.waits_for IS NULL AND r.scheduled_at < (
  SELECT l.last_run_at - interval '1 minute' FROM millrace.loops l WHERE l.name = 'limits'
);

-- name: limit_is_looked_at
-- When there is a token for somebody, the limit says so, and is looked at.
SELECT l.tenant || '/' || l.queue || '/' || l.key AS subject,
       format('should have been looked at at %s', l.next_at) AS finding
FROM millrace.limits l
WHERE l.next_at < (SELECT o.last_run_at - interval '1 minute' FROM millrace.loops o WHERE o.name = 'limits');

-- name: note_is_about_a_limit
-- A limit about which there is a note exists, or is made because a job names it.
SELECT coalesce(n.tenant || '/' || n.job_id, n.limit_id::text) AS subject,
       'is noted at a limit that does not exist' AS finding
FROM millrace.limit_notes n
WHERE NOT EXISTS (SELECT FROM millrace.limits l WHERE l.id = n.limit_id)
  AND NOT EXISTS (
    SELECT FROM millrace.jobs j WHERE j.tenant = n.tenant AND j.id = n.job_id AND n.limit_id = ANY (j.limits)
  )
  AND CASE WHEN n.job_id IS NULL THEN n.given_back > 0 ELSE
    left(replace(coalesce(n.named, n.job_id)::text, '-', ''), 16) < (
      SELECT millrace.id_prefix(l.last_run_at - interval '1 minute') FROM millrace.loops l WHERE l.name = 'limits'
    )
  END;

-- name: token_belongs_to_a_limit
SELECT t.limit_id || '/' || t.job_id AS subject, 'is a token of a limit that does not exist' AS finding
FROM millrace.limit_tokens t
WHERE NOT EXISTS (SELECT FROM millrace.limits l WHERE l.id = t.limit_id);
