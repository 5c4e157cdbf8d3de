-- oldest program: 15
--
-- Jobs that expire: one that has not been delivered by `expires_at` is not handed out any more, and a sweep ends it. A
-- job that has been delivered, or never expires, has none. The same instant follows from the job's configuration, for
-- statements that write the row of an undelivered job anew.
ALTER TABLE millrace.ready ADD COLUMN expires_at timestamptz;
CREATE INDEX ready_expiring ON millrace.ready (expires_at) WHERE expires_at IS NOT NULL;

CREATE FUNCTION millrace.expiry(config json, created_at timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT coalesce((config ->> 'expires_at')::timestamptz,
                  created_at + (config ->> 'expires_secs')::int * interval '1 second')
$$;

-- What a copy of a job keeps of its configuration: an instant is of no use to it.
CREATE FUNCTION millrace.copied_config(config json) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN config -> 'expires_at' IS NULL THEN config ELSE (config::jsonb - 'expires_at')::json END
$$;

-- The mark in the id of a job that is settled with more care than most (domain/ids.ts): it has limits, or expires.
CREATE FUNCTION millrace.marked_suffix(suffix text, config json) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN coalesce(config -> 'limits', config -> 'expires_secs', config -> 'expires_at') IS NULL THEN suffix
              ELSE '9' || substr(suffix, 2) END
$$;
