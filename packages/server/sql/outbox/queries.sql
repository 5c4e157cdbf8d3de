-- What relays and the command line do in the database of the application. Statements are planned each time they run,
-- under whatever settings that database has, and each is a transaction of its own: a pooler in transaction mode may be
-- in between.

-- name: claim
-- Takes the oldest entries that nobody holds, in the order of writing, up to :max_entries and :max_bytes, but at least
-- one. A relay that has not answered for :hold_secs is dead. Rows that another relay is taking are passed over. The
-- walk begins at :floor: what was deleted before it costs nothing, and now and then it begins at 0, because entries
-- become visible in the order of commits.
WITH free AS MATERIALIZED (
  SELECT e.seq, e.size FROM millrace_outbox.entries e
  WHERE e.seq >= :floor::bigint
    AND (e.taken_at IS NULL OR e.taken_at < now() - :hold_secs::float8 * interval '1 second')
  ORDER BY e.seq LIMIT :max_entries::int FOR UPDATE SKIP LOCKED
), cut AS (
  SELECT seq FROM (
    SELECT seq, sum(size) OVER (ORDER BY seq) AS bytes, row_number() OVER (ORDER BY seq) AS rank FROM free
  ) AS summed WHERE bytes <= :max_bytes::bigint OR rank = 1
)
UPDATE millrace_outbox.entries e SET tried_at = coalesce(e.tried_at, now()), taken_at = now()
WHERE e.seq = ANY (ARRAY(SELECT seq FROM cut))
RETURNING e.seq, coalesce(e.key, e.id::text) AS key, e.task, e.payload::text AS payload, e.queue,
          e.config::text AS config, e.metadata::text AS metadata, to_json(e.run_at) #>> '{}' AS run_at,
          CASE WHEN e.tried_at < now() THEN extract(epoch FROM now() - e.tried_at)::float8 END AS tried_secs;

-- name: delivered
-- Need not be on disk before we go on: an entry that a crash brings back is sent again, and its key finds its job.
DELETE FROM millrace_outbox.entries
WHERE seq = ANY (:seqs::bigint[]) AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off';

-- name: release
-- Puts entries back that were not delivered. If they cannot have been sent (:unsent), a first try was none.
UPDATE millrace_outbox.entries
SET taken_at = NULL, tried_at = CASE WHEN :unsent::boolean AND tried_at = taken_at THEN NULL ELSE tried_at END
WHERE seq = ANY (:seqs::bigint[]);

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
WITH gone AS (
  DELETE FROM millrace_outbox.handled WHERE key = ANY (ARRAY(
    SELECT h.key FROM millrace_outbox.handled h WHERE h.at < now() - :older_secs::float8 * interval '1 second'
    LIMIT :most::int FOR UPDATE SKIP LOCKED
  )) RETURNING 1
)
SELECT count(*)::int AS n FROM gone;

-- name: version
SELECT max(version)::int AS version FROM millrace_outbox.versions;
