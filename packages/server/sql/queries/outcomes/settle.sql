-- name: settle
-- The only way out of `running`, for any number of jobs: completed, failed, retrying, cancelled, or back to where the
-- job came from (released, or undelivered, which does not count the delivery). A step is not ended unless
-- :workflows_locked says that its workflow is locked. A settlement acts only if the lease still exists under the given
-- token (null: under any token, for a cancellation) and, if the caller asks for that, only if its deadline has passed.
-- If several settlements name the same lease, one of them acts. The answer lists the numbers of those that acted; the
-- others changed nothing. :attempts and :details: how the attempt ended, if it is one to write down, and the name and
-- stack of its error. An attempt keeps its slot if it is among the first 20; later ones take turns in 20 more. Its
-- error is cut, since a job may have 40.
WITH given AS MATERIALIZED (
-- include: settlements
), held AS (
-- include: leases_to_settle
), ended AS (
-- include: end_jobs
), followed AS (
-- include: follow_held
), again AS (
  INSERT INTO millrace.ready (scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue,
                              workflow_id, error, later, size)
  SELECT due.at,
         CASE WHEN held.outcome = 'undelivered' AND held.delivery_count = 1 THEN NULL ELSE held.started_at END,
         j.priority, held.retry_count + (held.outcome = 'retrying')::int,
         held.delivery_count - (held.outcome = 'undelivered')::int,
         held.id, held.tenant, j.queue, held.workflow_id, held.error,
         CASE WHEN due.at > now() THEN true END, millrace.job_size(j.payload, j.metadata, held.error, j.context_bytes)
  FROM held, LATERAL (SELECT * FROM millrace.jobs j WHERE j.tenant = held.tenant AND j.id = held.id OFFSET 0) AS j,
  LATERAL (
    SELECT coalesce(held.retry_at, held.scheduled_at, j.run_at, j.created_at) AS at
  ) AS due
  WHERE held.outcome IN ('retrying', 'released', 'undelivered')
  RETURNING id, queue, priority, scheduled_at
), buried AS (
-- include: bury_jobs
), tried AS (
-- include: note_attempts
), seen AS (
-- include: note_transitions
)
SELECT held.n::int, held.id, held.token, held.tenant, held.worker, held.attempt, held.outcome, held.reason,
       extract(epoch FROM now() - held.started_at)::float8 AS run_secs,
       origin.queue AS job_queue, origin.task AS job_task,
       again.queue, again.priority, again.scheduled_at, (SELECT count(*) FROM seen)::int AS watched,
       buried.task AS dead_task, buried.queue AS dead_queue, buried.error AS dead_error
-- include: from_settled
) AS origin;

-- name: settle_limited
-- The same for jobs that may have limits or a parent (their ids are marked): an attempt that ends gives back its
-- room, once, by the statement that ends it. A job that goes back to its queue sleeps until it is due, or joins the
-- line of its first limit; only one that was not delivered keeps its room, and may still expire. `looks`, in the first
-- row: limits where somebody may be let in now. `parents`, there too: parents that have nothing to wait for any more. A
-- row in `ready` with an empty array of limits has none, and may have a parent.
WITH given AS MATERIALIZED (
-- include: settlements
), held AS (
-- include: leases_to_settle
), ended AS (
-- include: end_jobs
), followed AS (
-- include: follow_held
), again AS (
  INSERT INTO millrace.ready (scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue,
                              workflow_id, error, later, size, limits, waits_for, expires_at)
  SELECT due.at,
         CASE WHEN held.outcome = 'undelivered' AND held.delivery_count = 1 THEN NULL ELSE held.started_at END,
         j.priority, held.retry_count + (held.outcome = 'retrying')::int,
         held.delivery_count - (held.outcome = 'undelivered')::int,
         held.id, held.tenant, j.queue, held.workflow_id, held.error,
         CASE WHEN j.limits IS NOT NULL AND NOT room.stays THEN false WHEN due.at > now() THEN true END,
         millrace.job_size(j.payload, j.metadata, held.error, j.context_bytes),
         CASE WHEN held.outcome = 'undelivered' THEN coalesce(j.limits, '{}') ELSE j.limits END,
         CASE WHEN NOT room.stays AND due.at <= now() THEN j.limits[1] END,
         CASE WHEN held.outcome = 'undelivered' AND held.delivery_count = 1
              THEN millrace.expiry(j.config, j.created_at) END
  FROM held, LATERAL (SELECT * FROM millrace.jobs j WHERE j.tenant = held.tenant AND j.id = held.id OFFSET 0) AS j,
  LATERAL (
    SELECT coalesce(held.retry_at, held.scheduled_at, j.run_at, j.created_at) AS at
  ) AS due, LATERAL (
    SELECT held.outcome = 'undelivered' AND NOT millrace.has_rate(j.config) AS stays
  ) AS room
  WHERE held.outcome IN ('retrying', 'released', 'undelivered')
  RETURNING id, queue, priority, scheduled_at, tenant, waits_for
), buried AS (
-- include: bury_jobs
), tried AS (
-- include: note_attempts
), seen AS (
-- include: note_transitions
), freed AS MATERIALIZED (
  SELECT each.id, count(*)::int AS n
  FROM held, LATERAL (
    SELECT j.limits, j.config FROM millrace.jobs j WHERE j.tenant = held.tenant AND j.id = held.id OFFSET 0
  ) AS j, unnest(j.limits) AS each (id)
  WHERE held.outcome <> 'undelivered' OR millrace.has_rate(j.config) GROUP BY each.id
), noted AS (
-- include: note_given_back
  UNION ALL
  SELECT 0, again.waits_for, again.id, again.tenant, NULL FROM again WHERE again.waits_for IS NOT NULL
  RETURNING limit_id, quiet
), family AS MATERIALIZED (
  SELECT c.parent_id, held.id, held.outcome::millrace.job_status AS status, held.result,
         CASE WHEN held.outcome <> 'completed' THEN held.error END AS error
  FROM held, LATERAL (
-- include: parent_of_held
  ) AS c
  WHERE held.outcome IN ('completed', 'failed', 'cancelled')
), tied AS MATERIALIZED (
-- include: lock_parents
), told AS (
-- include: tell_parents
), counted AS (
-- include: count_ends
)
SELECT held.n::int, held.id, held.token, held.tenant, held.worker, held.attempt, held.outcome, held.reason,
       extract(epoch FROM now() - held.started_at)::float8 AS run_secs,
       origin.queue AS job_queue, origin.task AS job_task,
       again.queue, again.priority, again.scheduled_at, (SELECT count(*) FROM seen)::int AS watched,
       buried.task AS dead_task, buried.queue AS dead_queue, buried.error AS dead_error,
       CASE WHEN row_number() OVER () = 1
            THEN (SELECT json_agg(DISTINCT limit_id) FROM noted WHERE quiet IS NULL)::text END AS looks,
       CASE WHEN row_number() OVER () = 1 THEN (SELECT json_agg(parent_id) FROM counted WHERE complete)::text END
         AS parents
-- include: from_settled
) AS origin;

-- name: settle_completed
-- The same for nearly all settlements, where there is nothing to decide: the completion of a job outside any workflow.
-- The answer is one row per tenant, worker, queue and task, with arrays in JSON: the numbers of the completions that
-- acted, and how long each job had run. Only a remote worker's lease says queue and task.
WITH held AS (
-- include: leases_to_complete
), ended AS (
-- include: end_completed
), followed AS (
-- include: follow_completed
), seen AS (
-- include: note_completed
)
SELECT tenant, worker, queue, task, json_agg(n)::text AS numbers,
       json_agg(extract(epoch FROM now() - started_at)::float8)::text AS run_secs,
       (SELECT count(*) FROM seen)::int AS watched
FROM held GROUP BY tenant, worker, queue, task;

-- name: settle_completed_limited
-- The same for jobs that may have limits or a parent; they give back their room, and tell it, as in settle_limited.
WITH held AS (
-- include: leases_to_complete
), ended AS (
-- include: end_completed
), followed AS (
-- include: follow_completed
), seen AS (
-- include: note_completed
), family AS MATERIALIZED (
  SELECT c.parent_id, held.id, 'completed'::millrace.job_status AS status, held.result, NULL::text AS error
  FROM held, LATERAL (
-- include: parent_of_held
  ) AS c
), tied AS MATERIALIZED (
-- include: lock_parents
), told AS (
-- include: tell_parents
), counted AS (
-- include: count_ends
), leaving AS MATERIALIZED (
  -- After the parents are locked: whoever holds one may wait for a job that would be locked here.
  SELECT each.id, count(*)::int AS n
  FROM held, LATERAL (
    SELECT j.limits FROM millrace.jobs j WHERE j.tenant = held.tenant AND j.id = held.id OFFSET 0
  ) AS j, unnest(j.limits) AS each (id)
  WHERE (SELECT count(*) FROM tied) >= 0
  GROUP BY each.id
-- include: pass_room_on
)
SELECT tenant, worker, queue, task, json_agg(n)::text AS numbers,
       json_agg(extract(epoch FROM now() - started_at)::float8)::text AS run_secs,
       (SELECT count(*) FROM seen)::int AS watched,
       CASE WHEN row_number() OVER () = 1 THEN
-- include: looks_in_json
       END AS looks,
       CASE WHEN row_number() OVER () = 1 THEN
-- include: ran_out_in_json
       END AS ran_out,
       CASE WHEN row_number() OVER () = 1 THEN
-- include: admitted_in_json
       END AS admitted,
       CASE WHEN row_number() OVER () = 1 THEN (SELECT json_agg(parent_id) FROM counted WHERE complete)::text END
         AS parents
FROM held GROUP BY tenant, worker, queue, task;

-- name: settle_bundled
-- Completes jobs that are in bundles. :bundle_tokens to :are_last: which bundles, which of their members (a mask) and
-- whether none will be left. :member_bundles to :member_results: the members, by the number of their bundle and their
-- position in it. The bits read under the row's lock say which members were still in the bundle, and the answer returns
-- those bits. The other jobs may have leases of their own by now. :emptied_tokens: bundles that should be empty, and
-- are deleted if they are. :mark_tokens, :mark_reaches and :dropped_marks: as in move_marks.
-- include: complete_members
)
SELECT n, taken::text, extract(epoch FROM now() - started_at)::float8 AS run_secs,
       (SELECT count(*) FROM seen)::int AS watched FROM bundle;

-- name: settle_bundled_limited
-- The same if any of them may have limits: they give back their room, and tell it, as in settle_limited. :left_bundles
-- to :left_limits: whose room, by the number of the bundle and the position of the member, as in its configuration.
-- Jobs with a parent are in no bundle.
-- include: complete_members
), leaving AS MATERIALIZED (
  SELECT given.id, count(*)::int AS n
  FROM unnest(:left_bundles::int[], :left_positions::int[], :left_limits::uuid[]) AS given (n, position, id)
  JOIN member ON member.n = given.n AND member.position = given.position
  GROUP BY given.id
-- include: pass_room_on
)
SELECT n, taken::text, extract(epoch FROM now() - started_at)::float8 AS run_secs,
       (SELECT count(*) FROM seen)::int AS watched,
-- include: looks_in_json
       AS looks,
-- include: ran_out_in_json
       AS ran_out,
-- include: admitted_in_json
       AS admitted FROM bundle;

-- name: cancel_waiting
-- Cancels jobs in `ready`; `settle` cancels running ones. A row is still at the ctid where it was seen, or it is gone;
-- or it has been put into a line, or out of it, since. Then it may be missed, like one that has just been claimed: the
-- caller looks again.
WITH gone AS (
-- include: waiting_to_cancel
), ended AS (
-- include: end_waiting
), followed AS (
-- include: follow_gone
), seen AS (
-- include: note_cancelled
)
SELECT gone.id, origin.queue, origin.task, (SELECT count(*) FROM seen)::int AS watched
-- include: from_cancelled
) AS origin;

-- name: cancel_waiting_limited
-- The same for jobs that may have limits or a parent. One that was admitted and not claimed yet gives back its room;
-- one that waits for room, or sleeps, has none.
WITH gone AS (
-- include: waiting_to_cancel
    , r.later, r.waits_for, r.limits
), ended AS (
-- include: end_waiting
), followed AS (
-- include: follow_gone
), seen AS (
-- include: note_cancelled
), freed AS MATERIALIZED (
  SELECT each.id, count(*)::int AS n FROM gone, unnest(gone.limits) AS each (id)
  WHERE millrace.holds_room(gone.later, gone.waits_for, gone.limits) GROUP BY each.id
), noted AS (
-- include: note_given_back
  RETURNING limit_id, quiet
), family AS MATERIALIZED (
  SELECT c.parent_id, gone.id, 'cancelled'::millrace.job_status AS status, NULL::json AS result, gone.error
  FROM gone, LATERAL (
    SELECT c.parent_id FROM millrace.children c WHERE c.child_id = gone.id AND NOT c.detached OFFSET 0
  ) AS c
), tied AS MATERIALIZED (
-- include: lock_parents
), told AS (
-- include: tell_parents
), counted AS (
-- include: count_ends
)
SELECT gone.id, origin.queue, origin.task, (SELECT count(*) FROM seen)::int AS watched,
       CASE WHEN row_number() OVER () = 1
            THEN (SELECT json_agg(DISTINCT limit_id) FROM noted WHERE quiet IS NULL)::text END AS looks,
       CASE WHEN row_number() OVER () = 1 THEN (SELECT json_agg(parent_id) FROM counted WHERE complete)::text END
         AS parents
-- include: from_cancelled
) AS origin;

-- fragment: complete_members
WITH asked AS MATERIALIZED (
  SELECT token, tenant, mask::varbit AS mask, last, n::int AS n
  FROM unnest(:bundle_tokens::uuid[], :bundle_tenants::text[], :masks::text[], :are_last::bool[])
    WITH ORDINALITY AS asked (token, tenant, mask, last, n)
), locked AS MATERIALIZED (
  SELECT b.token FROM millrace.bundles b LEFT JOIN asked ON asked.token = b.token AND asked.tenant = b.tenant
  WHERE b.token = ANY (:bundle_tokens::uuid[] || :emptied_tokens::uuid[])
    AND (asked.n IS NOT NULL OR b.token = ANY (:emptied_tokens::uuid[]))
  ORDER BY b.token, b.tenant
  FOR UPDATE OF b
), partly AS (
  UPDATE millrace.bundles b
  SET taken = b.open & asked.mask, open = b.open & ~asked.mask
  FROM asked
  WHERE b.token = ANY (ARRAY(SELECT token FROM locked)) AND b.token = asked.token AND b.tenant = asked.tenant
    AND NOT asked.last
  RETURNING asked.n, b.tenant, b.worker, b.started_at, b.taken, b.ids
), wholly AS (
  DELETE FROM millrace.bundles b
  USING asked
  WHERE b.token = ANY (ARRAY(SELECT token FROM locked)) AND b.token = asked.token AND b.tenant = asked.tenant
    AND asked.last AND position('1' IN (b.open & ~asked.mask)::text) = 0
  RETURNING asked.n, b.tenant, b.worker, b.started_at, b.open & asked.mask AS taken, b.ids
), swept AS (
  DELETE FROM millrace.bundles b
  WHERE b.token = ANY (ARRAY(SELECT token FROM locked)) AND b.token = ANY (:emptied_tokens::uuid[])
    AND b.token <> ALL (:bundle_tokens::uuid[]) AND position('1' IN b.open::text) = 0
), marked AS (
  UPDATE millrace.claim_marks m SET reach = given.reach
  FROM unnest(:mark_tokens::uuid[], :mark_reaches::int[]) AS given (token, reach)
  WHERE m.token = ANY (:mark_tokens::uuid[]) AND m.token = given.token
), unmarked AS (
  DELETE FROM millrace.claim_marks WHERE token = ANY (:dropped_marks::uuid[])
), bundle AS MATERIALIZED (
  SELECT * FROM partly UNION ALL SELECT * FROM wholly
), member AS MATERIALIZED (
  SELECT bundle.n, bundle.tenant, bundle.worker, bundle.started_at, m.position::int AS position, m.id
  FROM bundle, unnest(bundle.ids) WITH ORDINALITY AS m (id, position)
  WHERE get_bit(bundle.taken, m.position::int - 1) = 1
), given AS MATERIALIZED (
  SELECT *
  FROM unnest(:member_bundles::int[], :member_positions::int[], :member_results::json[]) AS given (n, position, result)
), ended AS (
  INSERT INTO millrace.done (completed_at, started_at, retry_count, delivery_count, status, id, tenant, result, worker)
  SELECT now(), member.started_at, 0, 1, 'completed', member.id, member.tenant, given.result, member.worker
  FROM given JOIN member ON member.n = given.n AND member.position = given.position
), followed AS (
  INSERT INTO millrace.recent_ends (at, job_id, status, tenant)
  SELECT now(), member.id, 'completed', member.tenant
  FROM given JOIN member ON member.n = given.n AND member.position = given.position
  WHERE (SELECT EXISTS (SELECT FROM millrace.followed))
    AND EXISTS (SELECT FROM millrace.followed f WHERE f.tenant = member.tenant AND f.until > now())
), seen AS (
  INSERT INTO millrace.transitions (at, started_at, retry_count, delivery_count, status, job_id, result)
  SELECT now(), member.started_at, 0, 1, 'completed', member.id, given.result
  FROM given JOIN member ON member.n = given.n AND member.position = given.position
  WHERE (SELECT EXISTS (SELECT FROM millrace.watches))
    AND EXISTS (SELECT FROM millrace.watches w WHERE w.job_id = member.id)
  RETURNING 1

-- fragment: settlements
  SELECT *
  FROM unnest(:ids::uuid[], :tokens::uuid[], :outcomes::text[], :results::json[], :errors::text[],
              :reasons::millrace.dead_reason[], :delays_secs::float8[], :only_expired::bool[],
              :attempts::millrace.attempt_outcome[], :details::json[])
    WITH ORDINALITY
    AS given (id, token, outcome, result, error, reason, delay_secs, only_expired, attempt, details, n)

-- fragment: leases_to_settle
  DELETE FROM millrace.leases l
  USING given
  WHERE l.id = ANY (:ids::uuid[]) AND l.id = given.id AND (l.token = given.token OR given.token IS NULL)
    AND (NOT given.only_expired OR l.locked_until < now())
    AND (l.workflow_id IS NULL OR :workflows_locked OR given.outcome IN ('retrying', 'released', 'undelivered'))
  RETURNING given.n, l.id, l.token, l.tenant, l.workflow_id, l.started_at, l.scheduled_at, l.retry_count,
            l.delivery_count, l.worker, given.attempt, given.error AS attempt_error, given.details,
            given.outcome, given.result, coalesce(given.error, l.error) AS error, given.reason,
            now() + given.delay_secs * interval '1 second' AS retry_at

-- fragment: end_jobs
  INSERT INTO millrace.done
    (completed_at, started_at, scheduled_at, retry_count, delivery_count, status, id, tenant, result, error, worker)
  SELECT now(), started_at, scheduled_at, retry_count, delivery_count, outcome::millrace.job_status, id, tenant,
         result, error, CASE WHEN outcome = 'completed' THEN worker END
  FROM held WHERE outcome IN ('completed', 'failed', 'cancelled')

-- Ends are recorded while their tenant follows them (jobs/ends.sql).

-- fragment: follow_held
  INSERT INTO millrace.recent_ends (at, job_id, status, tenant)
  SELECT now(), id, outcome::millrace.job_status, tenant
  FROM held
  WHERE (SELECT EXISTS (SELECT FROM millrace.followed)) AND outcome IN ('completed', 'failed', 'cancelled')
    AND EXISTS (SELECT FROM millrace.followed f WHERE f.tenant = held.tenant AND f.until > now())

-- fragment: follow_completed
  INSERT INTO millrace.recent_ends (at, job_id, status, tenant)
  SELECT now(), id, 'completed', tenant
  FROM held
  WHERE (SELECT EXISTS (SELECT FROM millrace.followed))
    AND EXISTS (SELECT FROM millrace.followed f WHERE f.tenant = held.tenant AND f.until > now())

-- fragment: follow_gone
  INSERT INTO millrace.recent_ends (at, job_id, status, tenant)
  SELECT now(), id, 'cancelled', tenant
  FROM gone
  WHERE (SELECT EXISTS (SELECT FROM millrace.followed))
    AND EXISTS (SELECT FROM millrace.followed f WHERE f.tenant = gone.tenant AND f.until > now())

-- fragment: bury_jobs
  INSERT INTO millrace.dead_letters (created_at, job_id, reason, tenant, queue, task, error, retry_count)
  SELECT now(), held.id, held.reason, held.tenant, j.queue, j.task, held.error, held.retry_count
  FROM held, LATERAL (SELECT * FROM millrace.jobs j WHERE j.tenant = held.tenant AND j.id = held.id OFFSET 0) AS j
  WHERE held.outcome = 'failed'
  RETURNING job_id, task, queue, error

-- fragment: note_attempts
  INSERT INTO millrace.attempts AS a
    (started_at, ended_at, next_retry_at, number, slot, outcome, job_id, tenant, worker, error, details)
  SELECT started_at, now(), retry_at, delivery_count,
         CASE WHEN delivery_count <= 20 THEN delivery_count ELSE 21 + (delivery_count - 21) % 20 END,
         attempt, id, tenant, worker, left(attempt_error, 8192), details
  FROM held WHERE attempt IS NOT NULL
  ON CONFLICT (tenant, job_id, slot) DO UPDATE
  SET started_at = excluded.started_at, ended_at = excluded.ended_at, next_retry_at = excluded.next_retry_at,
      number = excluded.number, outcome = excluded.outcome, worker = excluded.worker, error = excluded.error,
      details = excluded.details

-- fragment: note_transitions
  INSERT INTO millrace.transitions
    (at, scheduled_at, started_at, retry_count, delivery_count, status, job_id, error, result)
  SELECT now(), coalesce(retry_at, scheduled_at), started_at,
         retry_count + (outcome = 'retrying')::int, delivery_count - (outcome = 'undelivered')::int,
         CASE WHEN outcome NOT IN ('released', 'undelivered') THEN outcome
              WHEN retry_count > 0 THEN 'retrying' ELSE 'pending' END::millrace.job_status,
         id, error, result
  FROM held
  WHERE (SELECT EXISTS (SELECT FROM millrace.watches))
    AND EXISTS (SELECT FROM millrace.watches w WHERE w.job_id = held.id)
  RETURNING 1

-- fragment: from_settled
FROM held LEFT JOIN again ON again.id = held.id LEFT JOIN buried ON buried.job_id = held.id, LATERAL (
  SELECT j.queue, j.task FROM millrace.jobs j WHERE j.tenant = held.tenant AND j.id = held.id OFFSET 0

-- fragment: pass_room_on
-- Where somebody is in line, the first of it take the places of those who leave. As many run as before, so nothing has
-- to be counted: the limit is not locked, and whoever holds it finds these jobs gone, as if they had been cancelled. A
-- job that needs another limit as well is left to a look, and so is every limit with a rate, or with more running than
-- may (it was lowered), or about which there is a note of a job that says other numbers than its row (`outdated`).
-- `freed`: the room that nobody took over. Where the line has run out (`ran_out`) the next create may take it: the note
-- is quiet there, as where nobody waits. Where no more than half of much room is taken (`ample`), it can wait for a
-- sweep, and all of it is returned in one row.
), line AS MATERIALIZED (
  SELECT leaving.id, leaving.n, l.waiting, l.most, l.tenant,
         coalesce(NOT l.waiting AND l.most >= 100 AND l.running * 2 <= l.most AND l.rate_count IS NULL
                  AND l.tokens IS NULL, false) AS ample,
         coalesce(l.waiting AND l.running <= l.most AND l.rate_count IS NULL AND l.tokens IS NULL, false) AS passes
  FROM leaving LEFT JOIN (
    SELECT * FROM millrace.limits l WHERE l.id = ANY (ARRAY(SELECT id FROM leaving)) OFFSET 0
  ) AS l ON l.id = leaving.id
), outdated AS MATERIALIZED (
  SELECT n.limit_id AS id FROM (
    SELECT n.limit_id, n.tenant, n.job_id FROM millrace.limit_notes n
    WHERE n.limit_id = ANY (ARRAY(SELECT id FROM line WHERE passes)) AND n.job_id IS NOT NULL OFFSET 0
  ) AS n JOIN line ON line.id = n.limit_id, LATERAL (
    SELECT j.config, j.limits FROM millrace.jobs j WHERE j.tenant = n.tenant AND j.id = n.job_id OFFSET 0
  ) AS j, LATERAL json_array_elements(j.config -> 'limits') WITH ORDINALITY AS each (value, place)
  WHERE j.limits[each.place] = n.limit_id
    AND ((each.value ->> 'running')::int IS DISTINCT FROM line.most OR json_typeof(each.value -> 'rate') = 'object')
), open AS MATERIALIZED (
  SELECT line.id, line.n FROM line WHERE line.passes AND line.id <> ALL (ARRAY(SELECT id FROM outdated))
-- include: let_in_heads
), freed AS MATERIALIZED (
  SELECT given.id, given.n, given.ample, given.tenant, given.ran_out,
         CASE WHEN given.ran_out OR NOT given.waiting THEN true END AS quiet
  FROM (
    SELECT line.id, line.waiting, line.ample, line.tenant, line.n - coalesce(taken.n, 0) AS n,
           open.id IS NOT NULL AND coalesce(taken.all_alone, true) AS ran_out
    FROM line LEFT JOIN open ON open.id = line.id LEFT JOIN taken ON taken.id = line.id
  ) AS given
  WHERE given.n > 0
), returned AS (
  INSERT INTO millrace.limit_returns (tenant, limit_ids, counts)
  SELECT tenant, array_agg(id), array_agg(n) FROM freed WHERE ample GROUP BY tenant
), noted AS (
  INSERT INTO millrace.limit_notes (given_back, limit_id, quiet) SELECT n, id, quiet FROM freed WHERE NOT ample

-- fragment: looks_in_json
-- Limits to look at.
  (SELECT json_agg(id) FROM freed WHERE quiet IS NULL)::text

-- fragment: ran_out_in_json
-- Those to look at in a moment: nobody was left in their line, unless somebody is just joining it.
  (SELECT json_agg(id) FROM freed WHERE ran_out)::text

-- fragment: note_given_back
-- No limit is locked here, or waited for: whoever holds it next counts in what its notes say. Where nobody is in its
-- line they are quiet. That is wrong if somebody is joining it at this moment; he looks again.
  INSERT INTO millrace.limit_notes (given_back, limit_id, job_id, tenant, quiet)
  SELECT freed.n, freed.id, NULL, NULL, l.quiet
  FROM freed LEFT JOIN LATERAL (
    SELECT true AS quiet FROM millrace.limits l WHERE l.id = freed.id AND NOT l.waiting OFFSET 0
  ) AS l ON true

-- Of jobs that end and have a parent (`family`): its row is locked first, in order of id, like whoever waits does; then
-- the end is kept, and counted if the parent waits for it. What it waits for is read under the lock.

-- fragment: parent_of_held
    SELECT c.parent_id FROM millrace.children c WHERE c.child_id = held.id AND NOT c.detached OFFSET 0

-- fragment: lock_parents
  SELECT p.parent_id FROM millrace.parents p
  WHERE p.parent_id = ANY (ARRAY(SELECT parent_id FROM family)) ORDER BY p.parent_id FOR NO KEY UPDATE

-- fragment: tell_parents
  UPDATE millrace.children c SET status = family.status, result = family.result, error = family.error
  FROM family, tied
  WHERE c.child_id = ANY (ARRAY(SELECT id FROM family)) AND c.child_id = family.id AND c.parent_id = tied.parent_id
    AND c.status IS NULL
  RETURNING c.parent_id, c.awaited_by

-- fragment: count_ends
-- What the parent waits for is not a condition: it would be judged by what this statement saw before it had the lock.
  UPDATE millrace.parents p SET pending = p.pending - cardinality(array_positions(ended.waits, p.awaits))
  FROM (
    SELECT parent_id, array_agg(awaited_by) AS waits FROM told WHERE awaited_by IS NOT NULL GROUP BY parent_id
  ) AS ended
  WHERE p.parent_id = ANY (ARRAY(SELECT parent_id FROM told)) AND p.parent_id = ended.parent_id
  RETURNING p.parent_id, p.awaits IS NOT NULL AND p.pending <= 0 AS complete

-- fragment: waiting_to_cancel
  DELETE FROM millrace.ready r
  WHERE r.ctid = ANY (ARRAY(
      SELECT w.place FROM unnest(:tenants::text[], :ids::uuid[]) AS given (tenant, id),
      LATERAL (
        SELECT r.ctid AS place FROM millrace.ready r WHERE r.tenant = given.tenant AND r.id = given.id OFFSET 0
      ) AS w
    )) AND (r.workflow_id IS NULL OR :workflows_locked)
  RETURNING r.id, r.tenant, r.started_at, r.scheduled_at, r.retry_count, r.delivery_count, r.error

-- fragment: end_waiting
  INSERT INTO millrace.done
    (completed_at, started_at, scheduled_at, retry_count, delivery_count, status, id, tenant, error)
  SELECT now(), started_at, scheduled_at, retry_count, delivery_count, 'cancelled', id, tenant, error FROM gone

-- fragment: note_cancelled
  INSERT INTO millrace.transitions (at, scheduled_at, started_at, retry_count, delivery_count, status, job_id, error)
  SELECT now(), scheduled_at, started_at, retry_count, delivery_count, 'cancelled', id, error
  FROM gone WHERE EXISTS (SELECT FROM millrace.watches w WHERE w.job_id = gone.id)
  RETURNING 1

-- fragment: from_cancelled
FROM gone, LATERAL (
  SELECT j.queue, j.task FROM millrace.jobs j WHERE j.tenant = gone.tenant AND j.id = gone.id OFFSET 0

-- fragment: leases_to_complete
  DELETE FROM millrace.leases l
  USING unnest(:ids::uuid[], :tokens::uuid[], :results::json[]) WITH ORDINALITY AS given (id, token, result, n)
  WHERE l.id = ANY (:ids::uuid[]) AND l.id = given.id AND l.token = given.token AND l.workflow_id IS NULL
  RETURNING given.n, l.id, l.tenant, l.worker, l.queue, l.task, l.started_at, l.scheduled_at, l.retry_count,
            l.delivery_count, l.error, given.result

-- fragment: end_completed
  INSERT INTO millrace.done
    (completed_at, started_at, scheduled_at, retry_count, delivery_count, status, id, tenant, result, error, worker)
  SELECT now(), started_at, scheduled_at, retry_count, delivery_count, 'completed', id, tenant, result, error, worker
  FROM held

-- fragment: note_completed
  INSERT INTO millrace.transitions
    (at, scheduled_at, started_at, retry_count, delivery_count, status, job_id, error, result)
  SELECT now(), scheduled_at, started_at, retry_count, delivery_count, 'completed', id, error, result
  FROM held
  WHERE (SELECT EXISTS (SELECT FROM millrace.watches))
    AND EXISTS (SELECT FROM millrace.watches w WHERE w.job_id = held.id)
  RETURNING 1
