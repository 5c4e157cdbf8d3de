-- What relays and the command line do in the database of the application. Statements are planned each time they run,
-- under whatever settings that database has, and each is a transaction of its own: a pooler in transaction mode may be
-- in between.

-- name: claim
SELECT claim, entries, last, oldest
FROM millrace_outbox.claim(:from_seq, :from_claim, :hold_secs, :max_entries, :max_bytes);

-- fragment: claimed
FROM millrace_outbox.entries e
WHERE e.seq = ANY (ARRAY(SELECT unnest(c.seqs) FROM millrace_outbox.claims c WHERE c.id = :claim::bigint))

-- fragment: job_text
-- An entry as an item of POST /jobs/batch; null for a workflow. What the application wrote is passed on as it stands.
-- A configuration beside a queue names none: enqueue has seen to that.
'{"task_name":' || to_json(e.task)
  || ',"idempotency_key":' || coalesce(to_json(e.key)::text, '"' || e.id || '"')
  || ',"payload":' || e.payload
  || CASE
       WHEN e.queue IS NULL THEN coalesce(',"config":' || e.config, '')
       WHEN e.config::text ~ '^\s*\{\s*"' THEN
         ',"config":{"queue":' || to_json(e.queue) || ',' || substr(ltrim(e.config::text, E' \t\r\n'), 2)
       ELSE ',"config":{"queue":' || to_json(e.queue) || '}'
     END
  || coalesce(',"metadata":' || e.metadata, '') || coalesce(',"run_at":' || to_json(e.run_at), '') || '}'

-- name: batch
-- What was claimed, as one text. Workflows are not in it: they are sent one by one.
SELECT count(*)::int AS entries, count(*) FILTER (WHERE e.task IS NULL)::int AS workflows,
       coalesce(extract(epoch FROM now() - min(e.tried_at)), 0)::float8 AS tried_secs,
       string_agg(
-- include: job_text
       , ',' ORDER BY e.seq) AS jobs
-- include: claimed

-- name: entries
-- The same, one by one.
SELECT e.seq, coalesce(e.key, e.id::text) AS key, e.task,
       coalesce(extract(epoch FROM now() - e.tried_at), 0)::float8 AS tried_secs,
       coalesce(
-- include: job_text
       , e.payload::text) AS text
-- include: claimed
ORDER BY e.seq;

-- name: delivered
-- All that was claimed. Need not be on disk before we go on: an entry that a crash brings back is sent again, and its
-- key finds its job.
WITH ended AS (
  DELETE FROM millrace_outbox.claims
  WHERE id = :claim::bigint AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off' RETURNING seqs
)
DELETE FROM millrace_outbox.entries WHERE seq = ANY (ARRAY(SELECT unnest(seqs) FROM ended));

-- name: delivered_some
-- Likewise, and the claim goes on.
DELETE FROM millrace_outbox.entries
WHERE seq = ANY (:seqs::bigint[]) AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off';

-- name: release
-- Ends a claim: what is left of it is free, and was tried unless it cannot have been sent (:unsent).
WITH ended AS (
  DELETE FROM millrace_outbox.claims WHERE id = :claim::bigint RETURNING taken_at, seqs
), tried AS (
  SELECT taken_at, unnest(seqs) AS seq FROM ended WHERE NOT :unsent::boolean
)
UPDATE millrace_outbox.entries e SET tried_at = least(e.tried_at, t.taken_at) FROM tried t WHERE e.seq = t.seq;

-- name: refuse
WITH gone AS (
  DELETE FROM millrace_outbox.entries WHERE seq = ANY (:seqs::bigint[]) RETURNING *
)
INSERT INTO millrace_outbox.refused (id, written_at, run_at, size, key, task, queue, payload, config, metadata, code,
                                     error)
SELECT g.id, g.written_at, g.run_at, g.size, g.key, g.task, g.queue, g.payload, g.config, g.metadata, a.code, a.error
FROM gone g JOIN unnest(:seqs::bigint[], :codes::text[], :errors::text[]) AS a (seq, code, error) ON a.seq = g.seq
ON CONFLICT (id) DO UPDATE SET refused_at = now(), code = excluded.code, error = excluded.error;

-- name: see
-- Says that a relay is there and, with :told_secs, that it wants to be told of entries for so long.
INSERT INTO millrace_outbox.relays (id, seen_at, told_until)
VALUES (:relay::uuid, now(), now() + :told_secs::float8 * interval '1 second')
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, told_until = excluded.told_until;

-- name: leave
DELETE FROM millrace_outbox.relays WHERE id = :relay::uuid OR seen_at < now() - interval '1 hour';

-- name: ring
-- To hear whether notifications arrive: behind a pooler in transaction mode they do not.
SELECT pg_notify('millrace_outbox', :relay);

-- name: gauge
-- How many wait, counted to :most, and how old the oldest is. Those in flight count.
SELECT (SELECT count(*) FROM (SELECT FROM millrace_outbox.entries LIMIT :most::int) AS counted)::int AS waiting,
       (SELECT extract(epoch FROM now() - e.written_at)::float8 FROM millrace_outbox.entries e
        ORDER BY e.seq LIMIT 1) AS oldest_secs,
       (SELECT count(*) FROM (SELECT FROM millrace_outbox.refused LIMIT :most::int) AS counted)::int AS refused;

-- name: relays
SELECT id, extract(epoch FROM now() - seen_at)::float8 AS seen_secs FROM millrace_outbox.relays
WHERE seen_at > now() - interval '1 minute' ORDER BY id;

-- name: refusals
SELECT id, task, to_json(refused_at) #>> '{}' AS refused_at, code, error FROM millrace_outbox.refused
ORDER BY refused_at DESC LIMIT :most::int;

-- name: retry
-- Puts refused entries back, :most at a time: those of :ids, or all of them if that is null.
WITH back AS (
  DELETE FROM millrace_outbox.refused WHERE id = ANY (ARRAY(
    SELECT r.id FROM millrace_outbox.refused r WHERE :ids::uuid[] IS NULL OR r.id = ANY (:ids::uuid[])
    ORDER BY r.refused_at LIMIT :most::int FOR UPDATE SKIP LOCKED
  )) RETURNING *
), put AS (
  INSERT INTO millrace_outbox.entries (written_at, run_at, size, id, key, task, queue, payload, config, metadata)
  SELECT written_at, run_at, size, id, key, task, queue, payload, config, metadata FROM back ORDER BY written_at
)
SELECT count(*)::int AS n FROM back;

-- name: prune_refused
WITH gone AS (
  DELETE FROM millrace_outbox.refused WHERE id = ANY (ARRAY(
    SELECT r.id FROM millrace_outbox.refused r WHERE r.refused_at < now() - :older_secs::float8 * interval '1 second'
    LIMIT :most::int FOR UPDATE SKIP LOCKED
  )) RETURNING 1
)
SELECT count(*)::int AS n FROM gone;

-- name: prune_handled
-- The oldest keys, :most at a time. :from is where the last step ended (null: at the start), so that what it deleted is
-- not walked over again before it is vacuumed; `last` is where this one ended.
WITH old AS (
  SELECT h.key, h.at FROM millrace_outbox.handled h
  WHERE h.at >= coalesce(:from::timestamptz, '-infinity') AND h.at < now() - :older_secs::float8 * interval '1 second'
  ORDER BY h.at LIMIT :most::int FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM millrace_outbox.handled WHERE key = ANY (ARRAY(SELECT key FROM old)) RETURNING 1
)
SELECT (SELECT count(*) FROM gone)::int AS n, (SELECT to_json(max(at)) #>> '{}' FROM old) AS last;

-- name: version
SELECT max(version)::int AS version FROM millrace_outbox.versions;
