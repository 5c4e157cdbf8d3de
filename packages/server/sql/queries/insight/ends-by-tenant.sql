-- name: ends_by_tenant
-- How many jobs ended, by tenant and step: of :queue, or of all queues if it is empty. The :max_tenants with the most
-- under their names, all others together under none. Steps of five minutes for two days, of an hour beyond. Of the
-- series of all tenants the newest :max_rows rows are looked at; if there are more, `counted_from` says from when on
-- the answer is whole.
WITH asked AS (
  SELECT least(coalesce(:until::timestamptz, now()), now()) AS until,
         greatest(coalesce(:since::timestamptz, coalesce(:until::timestamptz, now()) - interval '1 hour'),
                  now() - interval '60 days') AS since
), plot AS MATERIALIZED (
  SELECT step, until, to_timestamp(floor(extract(epoch FROM since) / step) * step) AS first
  FROM asked, LATERAL (
    SELECT CASE WHEN since >= now() - interval '173100 seconds' THEN 300 ELSE 3600 END AS step
  ) AS chosen
), walked AS MATERIALIZED (
  SELECT s.tenant, s.queue, s.task, s.at, s.completed + s.failed AS ended
  FROM plot, LATERAL (
    SELECT s.tenant, s.queue, s.task, s.at, s.completed, s.failed FROM millrace.series s
    WHERE s.step = plot.step AND s.at >= plot.first AND s.at < plot.until
    ORDER BY s.at DESC LIMIT :max_rows::int + 1
  ) AS s
), cut AS MATERIALIZED (
  -- The oldest step that was reached may have been reached in part.
  SELECT CASE WHEN count(*) > :max_rows::int THEN min(walked.at) + plot.step * interval '1 second' END AS at
  FROM plot LEFT JOIN walked ON true GROUP BY plot.step
), counted AS MATERIALIZED (
  SELECT walked.tenant, walked.at, walked.ended FROM walked, cut
  WHERE walked.queue = :queue AND walked.task = '' AND walked.ended > 0 AND (cut.at IS NULL OR walked.at >= cut.at)
), named AS MATERIALIZED (
  SELECT tenant FROM counted GROUP BY tenant ORDER BY sum(ended) DESC, tenant LIMIT :max_tenants::int
), summed AS (
  SELECT named.tenant, counted.at, sum(counted.ended)::float8 AS ended
  FROM counted LEFT JOIN named USING (tenant) GROUP BY named.tenant, counted.at
)
SELECT extract(epoch FROM plot.first)::float8 AS first, plot.step, extract(epoch FROM plot.until)::float8 AS until,
       extract(epoch FROM cut.at)::float8 AS counted_from,
       coalesce((SELECT json_agg(json_build_array(tenant, extract(epoch FROM at)::int8, ended)) FROM summed),
                '[]')::text AS ended
FROM plot, cut;
