-- The outbox of Millrace, version 1: jobs that exist exactly if the transaction that asked for them commits.
-- It can be applied again: what is there already stays as it is.
--
--   SELECT millrace_outbox.enqueue('send_receipt', '{"order": 4711}', queue => 'mail');
--
-- The role that enqueues needs EXECUTE on the functions and nothing else.

CREATE SCHEMA IF NOT EXISTS millrace_outbox;
GRANT USAGE ON SCHEMA millrace_outbox TO PUBLIC;

CREATE TABLE IF NOT EXISTS millrace_outbox.versions (
  version integer PRIMARY KEY,
  installed_at timestamptz NOT NULL DEFAULT now()
);

-- What waits to be sent. A row is written once, changed once, when a relay takes it, and deleted: half of each page is
-- left for the second version, so that no index has to learn of it. seq is the order of writing, not of commits, and
-- has gaps: nobody may conclude anything from a number that is missing.
CREATE TABLE IF NOT EXISTS millrace_outbox.entries (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  written_at timestamptz NOT NULL DEFAULT now(),
  tried_at timestamptz,                -- first taken by a relay that may have sent it
  taken_at timestamptz,                -- last taken by a relay, which has not answered for it yet
  run_at timestamptz,
  size integer NOT NULL,               -- bytes of JSON
  id uuid NOT NULL,
  key text,                            -- the idempotency key, if it is not the id
  task text,                           -- null: a workflow
  queue text,
  payload json NOT NULL,               -- of the job, or the whole request of the workflow
  config json,
  metadata json
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);

-- What the service would not take, with its answer. `millrace outbox retry` puts it back.
CREATE TABLE IF NOT EXISTS millrace_outbox.refused (
  id uuid PRIMARY KEY,
  written_at timestamptz NOT NULL,
  refused_at timestamptz NOT NULL DEFAULT now(),
  run_at timestamptz,
  size integer NOT NULL,
  key text,
  task text,
  queue text,
  payload json NOT NULL,
  config json,
  metadata json,
  code text NOT NULL,
  error text NOT NULL
);

-- Effects that have happened: see first_time.
CREATE TABLE IF NOT EXISTS millrace_outbox.handled (
  key text PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS handled_by_age ON millrace_outbox.handled USING brin (at);

-- The relays, and until when each wants to be told of new entries. A notification takes a lock at commit that all
-- notifying transactions queue for; under load relays look by themselves and want none.
CREATE UNLOGGED TABLE IF NOT EXISTS millrace_outbox.relays (
  id uuid PRIMARY KEY,
  seen_at timestamptz NOT NULL,
  told_until timestamptz
) WITH (fillfactor = 50);

-- Puts a job into the outbox, within the transaction of the caller. Returns the id of the entry, which is the
-- idempotency key of the job unless a key is given: the same key makes one job.
CREATE OR REPLACE FUNCTION millrace_outbox.enqueue(
  task text,
  payload json DEFAULT '{}',
  queue text DEFAULT NULL,
  config json DEFAULT NULL,
  metadata json DEFAULT NULL,
  run_at timestamptz DEFAULT NULL,
  key text DEFAULT NULL
) RETURNS uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  entry uuid := millrace_outbox.new_id();
BEGIN
  IF task IS NULL OR task !~ '\S' OR length(task) > 255 THEN
    RAISE EXCEPTION 'task must be a name of 1 to 255 characters' USING ERRCODE = '22023';
  ELSIF queue = '' OR length(queue) > 255 THEN
    RAISE EXCEPTION 'queue must be a name of 1 to 255 characters' USING ERRCODE = '22023';
  ELSIF json_typeof(payload) <> 'object' THEN
    RAISE EXCEPTION 'payload must be a JSON object, not %', json_typeof(payload) USING ERRCODE = '22023';
  ELSIF json_typeof(config) <> 'object' THEN
    RAISE EXCEPTION 'config must be a JSON object, not %', json_typeof(config) USING ERRCODE = '22023';
  ELSIF json_typeof(metadata) <> 'object' THEN
    RAISE EXCEPTION 'metadata must be a JSON object, not %', json_typeof(metadata) USING ERRCODE = '22023';
  ELSIF queue IS NOT NULL AND config -> 'queue' IS NOT NULL THEN
    RAISE EXCEPTION 'queue is given twice: as queue, and in config' USING ERRCODE = '22023';
  ELSIF run_at IN ('infinity', '-infinity') THEN
    RAISE EXCEPTION 'run_at must be an instant' USING ERRCODE = '22023';
  END IF;
  IF key IS NOT NULL THEN
    PERFORM millrace_outbox.check_key(key);
  END IF;
  INSERT INTO millrace_outbox.entries (id, key, task, queue, payload, config, metadata, run_at, size)
  VALUES (entry, key, task, queue, coalesce(payload, '{}'), config, metadata, run_at,
          coalesce(octet_length(payload::text), 2) + coalesce(octet_length(metadata::text), 0)
            + coalesce(octet_length(config::text), 0));
  IF EXISTS (SELECT FROM millrace_outbox.relays r WHERE r.told_until > now()) THEN
    PERFORM pg_notify('millrace_outbox', '');
  END IF;
  RETURN entry;
END $$;

-- The same for a workflow; the request is the body of POST /api/v1/workflows.
CREATE OR REPLACE FUNCTION millrace_outbox.enqueue_workflow(request json, key text DEFAULT NULL) RETURNS uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  entry uuid := millrace_outbox.new_id();
BEGIN
  IF request IS NULL OR json_typeof(request) <> 'object' THEN
    RAISE EXCEPTION 'request must be a JSON object' USING ERRCODE = '22023';
  ELSIF json_typeof(request -> 'name') IS DISTINCT FROM 'string' OR request ->> 'name' !~ '\S' THEN
    RAISE EXCEPTION 'request.name must be the name of the workflow' USING ERRCODE = '22023';
  ELSIF json_typeof(request -> 'steps') IS DISTINCT FROM 'array' THEN
    RAISE EXCEPTION 'request.steps must be an array' USING ERRCODE = '22023';
  ELSIF json_array_length(request -> 'steps') = 0 THEN
    RAISE EXCEPTION 'request.steps must not be empty' USING ERRCODE = '22023';
  END IF;
  IF key IS NOT NULL THEN
    PERFORM millrace_outbox.check_key(key);
  END IF;
  INSERT INTO millrace_outbox.entries (id, key, payload, size)
  VALUES (entry, key, request, octet_length(request::text));
  IF EXISTS (SELECT FROM millrace_outbox.relays r WHERE r.told_until > now()) THEN
    PERFORM pg_notify('millrace_outbox', '');
  END IF;
  RETURN entry;
END $$;

-- Whether an effect is to happen: true the first time that the key is named, if the transaction of that time commits.
-- A transaction that names the same key meanwhile waits for it to end.
CREATE OR REPLACE FUNCTION millrace_outbox.first_time(key text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
  IF key IS NULL OR key = '' OR length(key) > 1000 THEN
    RAISE EXCEPTION 'key must have 1 to 1000 characters' USING ERRCODE = '22023';
  END IF;
  INSERT INTO millrace_outbox.handled AS h (key) VALUES (key) ON CONFLICT ON CONSTRAINT handled_pkey DO NOTHING;
  RETURN FOUND;
END $$;

CREATE OR REPLACE FUNCTION millrace_outbox.check_key(key text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF key !~ '\S' OR key ~ '^\s|\s$' OR length(key) > 255 THEN
    RAISE EXCEPTION 'key must have 1 to 255 characters, and none of them blank at its ends' USING ERRCODE = '22023';
  ELSIF key LIKE 'millrace:%' THEN
    RAISE EXCEPTION 'key must not begin with millrace:' USING ERRCODE = '22023';
  END IF;
END $$;

-- A UUID of version 7: those of one time lie together in the index of the service's keys.
CREATE OR REPLACE FUNCTION millrace_outbox.new_id() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT encode(
    set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
      PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6),
      52, 1), 53, 1), 'hex')::uuid
$$;

REVOKE ALL ON ALL TABLES IN SCHEMA millrace_outbox FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA millrace_outbox FROM PUBLIC;

INSERT INTO millrace_outbox.versions (version) VALUES (1) ON CONFLICT DO NOTHING;
