-- name: unbundle
-- Moves jobs out of their bundles, each to a lease of its own under the same token and deadline. Nothing else about
-- them changes. A null token means whichever bundle holds the job. Here and in settle_bundled, statements lock bundles
-- in the order of their key; otherwise two of them could deadlock.
WITH given AS MATERIALIZED (
  SELECT * FROM unnest(:tenants::text[], :ids::uuid[], :tokens::uuid[]) AS given (tenant, id, token)
), wanted AS MATERIALIZED (
  SELECT b.token, b.tenant, array_agg(given.id) AS ids,
         bit_or(set_bit(repeat('0', length(b.open))::varbit, array_position(b.ids, given.id) - 1, 1)) AS mask
  FROM millrace.bundles b, given
  WHERE b.tenant = given.tenant AND (b.token = given.token OR given.token IS NULL)
    AND given.id BETWEEN b.first_id AND b.last_id AND get_bit(b.open, array_position(b.ids, given.id) - 1) = 1
  GROUP BY b.token, b.tenant
), locked AS MATERIALIZED (
  SELECT b.token FROM millrace.bundles b JOIN wanted ON wanted.token = b.token AND wanted.tenant = b.tenant
  WHERE b.token = ANY (ARRAY(SELECT token FROM wanted))
  ORDER BY b.token, b.tenant
  FOR UPDATE OF b
), loosened AS (
  UPDATE millrace.bundles b
  SET taken = b.open & wanted.mask, open = b.open & ~wanted.mask
  FROM wanted
  WHERE b.token = ANY (ARRAY(SELECT token FROM locked)) AND b.token = wanted.token AND b.tenant = wanted.tenant
  RETURNING b.tenant, b.token, b.locked_until, b.started_at, b.taken, b.ids, b.worker
)
INSERT INTO millrace.leases (locked_until, started_at, retry_count, delivery_count, id, token, tenant, worker)
SELECT b.locked_until, b.started_at, 0, 1, member.id, b.token, b.tenant, b.worker
FROM loosened b, unnest(b.ids) WITH ORDINALITY AS member (id, n)
WHERE get_bit(b.taken, member.n::int - 1) = 1
RETURNING id;

-- name: extend_bundles
-- A heartbeat for bundles; returns which of their jobs are still in them. The index returns the rows in the order of
-- their key, which is the order in which bundles are locked.
UPDATE millrace.bundles SET locked_until = now() + :secs * interval '1 second'
WHERE token = ANY (:tokens::uuid[])
RETURNING token, tenant, worker, queue, open::text;

-- name: standing_bundles
SELECT token, tenant, open::text FROM millrace.bundles WHERE token = ANY (:tokens::uuid[]);

-- name: move_marks
-- Sets how far into its claims the pool may start from now on (:mark_reaches), and deletes marks that are no longer
-- needed (:dropped_marks) because every job of their claim may have been started. Nearly always settle_bundled does
-- this along with its own work.
WITH moved AS (
  UPDATE millrace.claim_marks m SET reach = given.reach
  FROM unnest(:mark_tokens::uuid[], :mark_reaches::int[]) AS given (token, reach)
  WHERE m.token = ANY (:mark_tokens::uuid[]) AND m.token = given.token
)
DELETE FROM millrace.claim_marks WHERE token = ANY (:dropped_marks::uuid[]);
