-- Bringing the schema up to date. Run at a start or by a command, on a connection of its own, in databases of any
-- version.

-- name: take_migration_lock
-- Held until the transaction ends, so it also works through a pooler in transaction mode.
SELECT pg_try_advisory_xact_lock(:lock::bigint) AS taken;

-- name: migrations_known
-- From the rows of the catalogue: to_regclass may answer from the cache of the session, which another process that has
-- created the table since our transaction began has not reached yet.
SELECT FROM pg_tables WHERE schemaname = 'millrace' AND tablename = 'migrations';

-- name: applied_version
-- By way of JSON, because an old database does not have the column yet.
SELECT coalesce(max(m.version), 0)::int AS version,
       coalesce(max(coalesce((to_jsonb(m) ->> 'oldest')::int, m.version)), 0)::int AS oldest
FROM millrace.migrations m;

-- name: record_migration
INSERT INTO millrace.migrations (version, name, oldest) VALUES (:version, :name, :oldest);

-- name: record_early_migration
-- The column for the range is itself the work of a migration.
INSERT INTO millrace.migrations (version, name) VALUES (:version, :name);

-- name: database_known
SELECT FROM pg_database WHERE datname = :name;
