-- What handlers wrote.

-- name: append_logs
-- Adds lines to the attempts that hold these leases; a job is named once. :counts and :sizes: how much each of them
-- wrote, of which :jobs to :fields are the lines that could be kept, by the number of their job and their place in the
-- call (:places from 0, :offsets in bytes). The row in log_totals is updated first, so that two statements never give
-- out the same number. Of more than :attempt_bytes, the first half and the last half stay: whatever lies between goes,
-- and so do the lines of the attempt that had the slot before. Leases are not locked: a line that is written while its
-- lease is lost still belongs to its own attempt.
WITH held AS MATERIALIZED (
  SELECT given.n::int AS n, given.id, given.lines, given.bytes, l.tenant, l.delivery_count AS attempt,
         CASE WHEN l.delivery_count <= 10 THEN l.delivery_count ELSE 11 + (l.delivery_count - 11) % 10 END AS slot
  FROM unnest(:ids::uuid[], :tokens::uuid[], :counts::int[], :sizes::int[]) WITH ORDINALITY
    AS given (id, token, lines, bytes, n),
  LATERAL (
    SELECT l.tenant, l.delivery_count FROM millrace.leases l WHERE l.id = given.id AND l.token = given.token OFFSET 0
  ) AS l
), before AS MATERIALIZED (
  SELECT held.id, t.attempt FROM held, LATERAL (
    SELECT t.attempt FROM millrace.log_totals t WHERE t.job_id = held.id AND t.slot = held.slot OFFSET 0
  ) AS t
  WHERE t.attempt < held.attempt
), counted AS (
  INSERT INTO millrace.log_totals AS t (bytes, lines, replaced, attempt, slot, job_id, tenant)
  SELECT bytes, lines, 0, attempt, slot, id, tenant FROM held ORDER BY id
  ON CONFLICT (job_id, slot) DO UPDATE
  SET bytes = excluded.bytes + CASE WHEN t.attempt = excluded.attempt THEN t.bytes ELSE 0 END,
      lines = excluded.lines + CASE WHEN t.attempt = excluded.attempt THEN t.lines ELSE 0 END,
      replaced = t.replaced + CASE WHEN t.attempt = excluded.attempt THEN 0 ELSE t.lines END,
      attempt = excluded.attempt
  WHERE t.attempt <= excluded.attempt
  RETURNING t.job_id, t.attempt, t.lines, t.bytes
), placed AS MATERIALIZED (
  SELECT line.at, counted.bytes - held.bytes + line.start AS start, counted.lines - held.lines + line.place + 1 AS seq,
         line.bytes, counted.attempt, line.level, counted.job_id, line.message, line.fields, counted.bytes AS total
  FROM unnest(:jobs::int[], :places::int[], :offsets::int[], :bytes::int[], :ats::text[], :levels::int[],
              :messages::text[], :fields::json[])
    AS line (n, place, start, bytes, at, level, message, fields)
  JOIN held ON held.n = line.n JOIN counted ON counted.job_id = held.id
), kept AS (
  INSERT INTO millrace.log_lines (at, start, seq, bytes, attempt, level, job_id, message, fields)
  SELECT at::timestamptz, start, seq, bytes, attempt, level, job_id, message, fields FROM placed
  WHERE total <= :attempt_bytes::int OR start + bytes <= :attempt_bytes::int / 2
    OR start >= total - :attempt_bytes::int / 2
), gone AS (
  DELETE FROM millrace.log_lines WHERE ctid = ANY (ARRAY(
    SELECT x.place FROM counted, LATERAL (
      SELECT x.ctid AS place FROM millrace.log_lines x
      WHERE counted.bytes > :attempt_bytes::int AND x.job_id = counted.job_id AND x.attempt = counted.attempt
        AND x.start + x.bytes > :attempt_bytes::int / 2 AND x.start < counted.bytes - :attempt_bytes::int / 2
      OFFSET 0
    ) AS x
    UNION ALL
    SELECT x.place FROM before, LATERAL (
      SELECT x.ctid AS place FROM millrace.log_lines x
      WHERE x.job_id = before.id AND x.attempt = before.attempt OFFSET 0
    ) AS x
  ))
)
SELECT job_id AS id FROM counted;

-- name: log_of_job
-- Where a job is, how many lines were written of it, and how many of those asked for (:attempt, null: all) were not
-- kept. They are counted only where some were left out.
SELECT rec.status, coalesce(t.total, 0)::float8 AS total, coalesce(t.omitted, 0)::float8 AS omitted
FROM (
  SELECT r.tenant, r.id, r.status FROM millrace.job_records r WHERE r.tenant = :tenant AND r.id = :id
) AS rec
LEFT JOIN LATERAL (
  SELECT sum(t.lines + t.replaced) AS total,
         sum(CASE WHEN t.bytes > :attempt_bytes::int THEN t.lines - kept.n ELSE 0 END
             + CASE WHEN :attempt::int IS NULL THEN t.replaced ELSE 0 END)
           FILTER (WHERE :attempt::int IS NULL OR t.attempt = :attempt) AS omitted
  FROM millrace.log_totals t, LATERAL (
    SELECT count(*) AS n FROM millrace.log_lines x
    WHERE t.bytes > :attempt_bytes::int AND x.job_id = t.job_id AND x.attempt = t.attempt OFFSET 0
  ) AS kept
  WHERE t.job_id = rec.id OFFSET 0
) AS t ON true;

-- name: lines_of_job
-- A page of the lines that are kept, by attempt and number, after the last of the page before.
SELECT x.attempt, x.seq, x.at, x.level, x.message, x.fields::text AS fields
FROM millrace.log_lines x
WHERE x.job_id = :id AND (x.attempt, x.seq) > (:after_attempt::int, :after_seq::bigint)
  AND (:attempt::int IS NULL OR x.attempt = :attempt)
ORDER BY x.attempt, x.seq LIMIT :max_lines::int;

-- name: log_news
-- For all who follow logs in this process: how many lines each job has by now, and whether it has ended.
SELECT asked.id, coalesce(t.total, 0)::float8 AS total, d.id IS NOT NULL AS ended
FROM unnest(:tenants::text[], :ids::uuid[]) AS asked (tenant, id)
LEFT JOIN LATERAL (
  SELECT sum(t.lines + t.replaced) AS total FROM millrace.log_totals t WHERE t.job_id = asked.id OFFSET 0
) AS t ON true
LEFT JOIN LATERAL (
  SELECT d.id FROM millrace.done d
  WHERE d.tenant = asked.tenant AND d.status IN ('completed', 'failed', 'cancelled') AND d.id = asked.id OFFSET 0
) AS d ON true;

-- name: expire_logs
-- Removes the lines of jobs that retention has removed, as expire_checkpoints does.
WITH walked AS MATERIALIZED (
  SELECT t.job_id, t.tenant FROM millrace.log_totals t
  WHERE t.job_id > :after_id AND t.job_id < millrace.first_id(now() - :hours::float8 * interval '1 hour')
  ORDER BY t.job_id LIMIT :max_rows
), gone AS MATERIALIZED (
  SELECT DISTINCT walked.job_id FROM walked LEFT JOIN LATERAL (
    SELECT j.id FROM millrace.jobs j WHERE j.tenant = walked.tenant AND j.id = walked.job_id OFFSET 0
  ) AS j ON true
  WHERE j.id IS NULL
), removed AS (
  DELETE FROM millrace.log_lines WHERE job_id = ANY (ARRAY(SELECT job_id FROM gone))
), forgotten AS (
  DELETE FROM millrace.log_totals WHERE job_id = ANY (ARRAY(SELECT job_id FROM gone))
)
SELECT (SELECT count(*) FROM gone)::int AS removed, NULL::float8 AS overdue_secs, next.tenant, next.ending, next.id
FROM (SELECT) AS one LEFT JOIN (
  SELECT tenant, 'completed' AS ending, job_id AS id FROM walked
  WHERE (SELECT count(*) FROM walked) = :max_rows ORDER BY job_id DESC LIMIT 1
) AS next ON true;
