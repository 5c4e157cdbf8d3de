-- Handing tenants over to another database (docs/adr/0046-handing-over.md). Run by a command, on its own connections.

-- name: cell_row
-- By way of JSON, so that databases of earlier versions can be looked at too. `instance`: two addresses with the same
-- one lead to the same database.
SELECT c.first_bucket, c.last_bucket, coalesce(to_jsonb(c) ->> 'state', 'open') AS state,
       to_jsonb(c) ->> 'handover' AS handover, to_jsonb(c) ->> 'keeps' AS keeps, to_jsonb(c) ->> 'gives' AS gives,
       coalesce((to_jsonb(c) ->> 'pruned')::boolean, true) AS pruned, pg_is_in_recovery() AS follows,
       current_database() || ' since ' || pg_postmaster_start_time() AS instance
FROM millrace.cell c;

-- name: copy_lag
-- How many bytes of the log a standby has still to replay, as seen from where the original is.
SELECT pg_wal_lsn_diff(:written::pg_lsn, pg_last_wal_replay_lsn())::bigint AS bytes,
       (SELECT system_identifier FROM pg_control_system())::text AS system;

-- name: written_log
SELECT pg_current_wal_lsn()::text AS written, (SELECT system_identifier FROM pg_control_system())::text AS system;

-- name: promote
-- The standby becomes a database of its own.
SELECT pg_promote(true, :wait_secs::int);

-- name: close_cell
SELECT millrace.close_cell(:handover::uuid, :keeps::int4range, :gives::int4range);

-- name: end_sessions
-- Of the service: each new connection looks at the range first. Returns how many are not ours to end.
SELECT count(*) FILTER (WHERE NOT ended)::int AS left
FROM (
  SELECT CASE WHEN pg_has_role(a.usesysid, 'MEMBER') THEN pg_terminate_backend(a.pid) ELSE false END AS ended
  FROM pg_stat_activity a
  WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.application_name = 'millrace'
) AS session;

-- name: take_part
SELECT millrace.take_part(:handover::uuid, :part::int4range);

-- name: open_cell
SELECT millrace.open_cell(:handover::uuid);

-- name: reopen_cell
SELECT millrace.reopen_cell(:handover::uuid);

-- name: tables_of_cell
SELECT tab FROM millrace.tables_of_cell() AS tab;

-- name: prune_pages
SELECT millrace.prune_pages(:tab::name, :first_page::bigint, :pages::bigint) AS removed;

-- name: end_pruning
UPDATE millrace.cell SET pruned = true WHERE handover = :handover::uuid AND state = 'open';

-- name: cell_counts
-- Never more than so many rows of each.
SELECT (SELECT count(*) FROM (SELECT FROM millrace.tenants LIMIT :most) AS t)::int AS tenants,
       (SELECT count(*) FROM (SELECT FROM millrace.ready LIMIT :most) AS r)::int AS waiting,
       (SELECT count(*) FROM (SELECT FROM millrace.running LIMIT :most) AS l)::int AS running;

-- name: has_tenants
SELECT EXISTS (SELECT FROM millrace.tenants) AS used;
