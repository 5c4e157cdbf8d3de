-- oldest program: 15
--
-- Tenants that take turns on a queue (docs/adr/0041-shares-of-tenants.md). Jobs of such a queue are sorted into lines,
-- one per tenant, when they are first met: in `ready` they wait like those for a limit (later = false, `waits_for` is
-- the line), but hold what room they have. `share` is null where tenants do not take turns, and false while the lines
-- are being dissolved. `shared_since`: jobs that were due before may not be in lines yet. `turn`: the line that was
-- served last.
ALTER TABLE millrace.queue_limits
  ADD COLUMN share boolean,
  ADD COLUMN shared_since timestamptz,
  ADD COLUMN turn uuid;

-- The lines of a queue are next to each other: the first half of the id is that of the queue.
CREATE FUNCTION millrace.share_line(queue text, tenant text) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
  SELECT (left(md5(queue), 16) || left(md5(tenant), 16))::uuid
$$;

-- Whether a waiting job holds room at its limits: it was let in, even if it waits for the turn of its tenant.
CREATE FUNCTION millrace.holds_room(later boolean, waits_for uuid, limits uuid[]) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT later IS NOT FALSE OR coalesce(waits_for <> ALL (limits), false)
$$;

CREATE OR REPLACE VIEW millrace.queue_settings AS
SELECT g.queue, json_build_object(
  'running', g.running,
  'rate', CASE WHEN g.rate_count IS NOT NULL THEN
    json_build_object('count', g.rate_count, 'per_secs', g.rate_secs, 'burst', g.rate_burst)
  END,
  'share', CASE WHEN g.share THEN 'tenant' END
) AS settings
FROM millrace.queue_limits g
WHERE g.running IS NOT NULL OR g.rate_count IS NOT NULL OR g.share;
