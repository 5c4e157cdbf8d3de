-- Which tenants belong to this database (docs/adr/0042-ranges.md).

-- name: cell_range
SELECT first_bucket, last_bucket, state FROM millrace.cell;

-- name: narrow_range
-- Only to a part of what it was, and only if no tenant would be left outside.
UPDATE millrace.cell c SET first_bucket = :first_bucket, last_bucket = :last_bucket
WHERE c.state = 'open' AND c.first_bucket <= :first_bucket AND c.last_bucket >= :last_bucket
  AND NOT EXISTS (SELECT FROM millrace.tenants t WHERE t.bucket < :first_bucket OR t.bucket > :last_bucket);
