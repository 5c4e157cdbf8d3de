-- What operators did (docs/adr/0045-operators.md).

-- name: lock_audit
-- Operators change one thing at a time: what is recorded as before is what was there, and what is too old goes once.
SELECT pg_advisory_xact_lock(6215846302174093517);

-- name: add_audit
INSERT INTO millrace.audit (at, id, action, target, operator, request_id, before, after)
VALUES (coalesce(:at::timestamptz, now()), :id, :action, :target, :operator, :request_id, :before, :after);

-- name: add_read
-- One of an operator, a tenant and an hour; no row if there is one.
INSERT INTO millrace.audit (at, id, action, target, operator, request_id)
VALUES (now(), :id, 'read_tenant', :tenant, :operator, :request_id)
ON CONFLICT DO NOTHING RETURNING id;

-- name: trim_audit
-- The last :max_entries stay.
DELETE FROM millrace.audit WHERE (at, id) < (
  SELECT a.at, a.id FROM millrace.audit a ORDER BY a.at DESC, a.id DESC OFFSET :max_entries::int - 1 LIMIT 1
);

-- name: audit_page
-- The newest first, :max_entries of them at most, before the entry (:before_at, :before_id) if there is one.
SELECT a.at, a.id, a.action, a.target, a.operator, a.request_id, a.before::text AS before, a.after::text AS after
FROM millrace.audit a
WHERE :before_at::timestamptz IS NULL OR (a.at, a.id) < (:before_at::timestamptz, :before_id::uuid)
ORDER BY a.at DESC, a.id DESC LIMIT :max_entries::int;
