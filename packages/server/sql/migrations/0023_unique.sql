-- oldest program: 15
--
-- Unique jobs: for each key the newest job that was created under it. Whoever creates a job under a key holds the row's
-- lock and looks what that job is doing; nothing happens here when it is claimed or ends. The id is made of tenant,
-- queue and key, like that of a limit. Rows of jobs that have ended are removed by a sweep.
CREATE TABLE millrace.unique_keys (
  id uuid NOT NULL PRIMARY KEY,
  job_id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);

-- What a copy of a job keeps of its configuration: an instant is of no use to it, and it is not the one of its key.
CREATE OR REPLACE FUNCTION millrace.copied_config(config json) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN coalesce(config -> 'expires_at', config -> 'unique') IS NULL THEN config
              ELSE (config::jsonb - 'expires_at' - 'unique')::json END
$$;
