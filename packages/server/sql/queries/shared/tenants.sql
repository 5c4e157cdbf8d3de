-- name: register_tenant
-- Runs before a tenant's first row is written, so that an id leads back to its tenant (see the tenants table).
INSERT INTO millrace.tenants (tenant, bucket) VALUES (:tenant, :bucket) ON CONFLICT (tenant) DO NOTHING;
