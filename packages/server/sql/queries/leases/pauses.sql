-- name: pause_queue
-- A queue that is paused already stays paused since when it was.
INSERT INTO millrace.queues (paused_at, queue) VALUES (coalesce(:at::timestamptz, now()), :queue)
ON CONFLICT (queue) DO UPDATE SET paused_at = excluded.paused_at WHERE queues.paused_at IS NULL
RETURNING queue;

-- name: note_pause
-- Who paused it, and why.
INSERT INTO millrace.pauses (at, queue, operator, reason)
SELECT q.paused_at, q.queue, :operator, :reason FROM millrace.queues q
WHERE q.queue = :queue AND q.paused_at IS NOT NULL
ON CONFLICT (queue) DO UPDATE SET at = excluded.at, operator = excluded.operator, reason = excluded.reason;

-- name: pause_of
SELECT q.paused_at, q.paused_reason, q.paused_by FROM millrace.queue_marks q
WHERE q.queue = :queue AND q.paused_at IS NOT NULL;

-- name: resume_queue
-- Tells every process that listens, this one included, when it commits: claims that wait there look again.
WITH resumed AS (
  UPDATE millrace.queues SET paused_at = NULL WHERE queue = :queue AND paused_at IS NOT NULL RETURNING queue
), forgotten AS (
  DELETE FROM millrace.pauses WHERE queue = :queue
)
SELECT pg_notify('millrace', json_build_object('q', json_build_array(json_build_array(queue)))::text) FROM resumed;
