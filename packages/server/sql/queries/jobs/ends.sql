-- Jobs in the order in which they ended, while somebody asks.

-- name: course_of_tenant
-- What is visible at this moment, and under which course the tenant's ends are recorded; null if they are not, or not
-- for long enough to go on without saying so first.
SELECT pg_current_snapshot()::text AS snapshot, now() AS at, (
  SELECT f.course FROM millrace.followed f
  WHERE f.tenant = :tenant AND f.until > now() + :at_least_secs * interval '1 second'
) AS course;

-- name: follow_ends
-- Once this is committed, every statement that begins afterwards records what it ends of the tenant. What was about to
-- run out may have run out by the time that this is visible: that is a new course.
INSERT INTO millrace.followed AS f (until, course, tenant)
VALUES (now() + :secs * interval '1 second', gen_random_uuid(), :tenant)
ON CONFLICT (tenant) DO UPDATE
SET until = greatest(f.until, excluded.until),
    course = CASE WHEN f.until > now() + :margin_secs * interval '1 second' THEN f.course ELSE excluded.course END;

-- name: ends_between
-- Those that the snapshot :since did not see and :upto does, behind a place. Nothing is seen by neither or twice,
-- however late a commit became visible.
SELECT e.xid::text AS xid, e.seq::text AS seq, e.job_id AS id, e.status
FROM millrace.recent_ends e
WHERE e.tenant = :tenant AND (e.xid, e.seq) > (:after_xid::xid8, :after_seq::bigint)
  AND NOT pg_visible_in_snapshot(e.xid, :since::pg_snapshot) AND pg_visible_in_snapshot(e.xid, :upto::pg_snapshot)
ORDER BY e.xid, e.seq LIMIT :max_rows::int;

-- name: forget_ends
-- Those that nobody will ask for any more, :max_rows at most.
WITH over AS (DELETE FROM millrace.followed WHERE until < now())
DELETE FROM millrace.recent_ends WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM millrace.recent_ends WHERE at < now() - :secs * interval '1 second'
  LIMIT :max_rows FOR UPDATE SKIP LOCKED
))
RETURNING 1;
