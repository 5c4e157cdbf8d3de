-- oldest program: 15
--
-- Rates of limits by key (docs/adr/0037-rates.md). A limit may bound how many jobs run (`most`), how often they start
-- (`rate_*`), or both. `tokens` is what its bucket had at `refilled_at`; null: nobody has taken from it since it was
-- full. `next_at`: when there will be a token for somebody in its line; `full_at`: from when on it is not needed.
ALTER TABLE millrace.limits ALTER COLUMN most DROP NOT NULL;
ALTER TABLE millrace.limits ADD COLUMN rate_count integer;
ALTER TABLE millrace.limits ADD COLUMN rate_secs integer;
ALTER TABLE millrace.limits ADD COLUMN rate_burst integer;
ALTER TABLE millrace.limits ADD COLUMN tokens float8;
ALTER TABLE millrace.limits ADD COLUMN refilled_at timestamptz;
ALTER TABLE millrace.limits ADD COLUMN next_at timestamptz;
ALTER TABLE millrace.limits ADD COLUMN full_at timestamptz;
CREATE INDEX limits_by_next ON millrace.limits (next_at) WHERE next_at IS NOT NULL;

-- Tokens that jobs were let in with and that may come back: a job that is cancelled before it starts has used none.
CREATE TABLE millrace.limit_tokens (
  admitted_at timestamptz NOT NULL,
  limit_id uuid NOT NULL,
  job_id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  PRIMARY KEY (limit_id, job_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- Whether a job with this configuration names a rate: then each of its deliveries takes a token.
CREATE FUNCTION millrace.has_rate(config json) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN json_typeof(config -> 'limits') = 'array' THEN EXISTS (
    SELECT FROM json_array_elements(config -> 'limits') AS named (value)
    WHERE json_typeof(named.value -> 'rate') = 'object'
  ) ELSE false END
$$;
