-- name: pause_queue
-- A queue that is paused already stays paused since when it was.
INSERT INTO millrace.queues (paused_at, queue) VALUES (now(), :queue)
ON CONFLICT (queue) DO UPDATE SET paused_at = now() WHERE queues.paused_at IS NULL;

-- name: resume_queue
-- Tells every process that listens, this one included, when it commits: claims that wait there look again.
WITH resumed AS (
  UPDATE millrace.queues SET paused_at = NULL WHERE queue = :queue AND paused_at IS NOT NULL RETURNING queue
)
SELECT pg_notify('millrace', json_build_object('q', json_build_array(json_build_array(queue)))::text) FROM resumed;
