-- The schema as the migrations leave it. Nothing applies this file: it shows in a review what a migration changes.
-- Written by `npm run schema`; a test compares.

CREATE TYPE millrace.job_status AS ENUM (
  'pending',
  'running',
  'retrying',
  'failed',
  'cancelled',
  'completed'
);

CREATE TYPE millrace.dead_reason AS ENUM (
  'max_attempts_exceeded',
  'non_retryable',
  'handler_not_found'
);

CREATE TYPE millrace.firing_kind AS ENUM (
  'on_time',
  'catch_up',
  'triggered',
  'skipped'
);

CREATE TYPE millrace.workflow_status AS ENUM (
  'created',
  'running',
  'completed',
  'failed',
  'partially_failed',
  'cancelled'
);

CREATE TYPE millrace.attempt_outcome AS ENUM (
  'failed',
  'timed_out',
  'lease_expired',
  'cancelled',
  'released',
  'suspended'
);

CREATE TYPE millrace.operation_action AS ENUM (
  'cancel_jobs',
  'replay_dead_letters',
  'resume_workflows',
  'run_jobs_now',
  'rerun_jobs'
);

CREATE TYPE millrace.operation_status AS ENUM (
  'running',
  'completed',
  'stopped',
  'failed'
);

CREATE OR REPLACE FUNCTION millrace.id_prefix(at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT lpad(to_hex(us / 1000), 12, '0') || '7' || lpad(to_hex((us % 1000) * 4096 / 1000), 3, '0')
  FROM (SELECT (extract(epoch FROM at) * 1000000)::bigint AS us) AS instant
$function$;

CREATE OR REPLACE FUNCTION millrace.first_id(at timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$ SELECT (millrace.id_prefix(greatest(at, timestamptz 'epoch')) || '0000000000000000')::uuid $function$;

CREATE OR REPLACE FUNCTION millrace.bucket_of_id(id uuid)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$ SELECT ('x' || substr(id::text, 25, 4))::bit(16)::integer $function$;

CREATE OR REPLACE FUNCTION millrace.job_size(payload json, metadata json, error text, context_bytes integer DEFAULT NULL::integer)
 RETURNS integer
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  SELECT nullif(greatest(8191, octet_length(payload::text) + coalesce(octet_length(metadata::text), 0)
    + coalesce(octet_length(error), 0) + coalesce(context_bytes, 0)), 8191)
$function$;

CREATE OR REPLACE FUNCTION millrace.payload_bytes(payload json, context integer, context_bytes integer)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT octet_length(payload::text) + CASE WHEN context IS NULL THEN 0
    ELSE context_bytes + octet_length('"_context":') + (payload::text <> '{}')::int END
$function$;

CREATE OR REPLACE FUNCTION millrace.error_template(error text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  SELECT nullif(left(regexp_replace(regexp_replace(regexp_replace(regexp_replace(line,
    '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}', '<id>', 'g'),
    '(?<![0-9A-Za-z])0x[0-9a-fA-F]+(?![0-9A-Za-z])', '<id>', 'g'),
    '(?<![0-9A-Za-z])(?=[0-9A-Za-z]*[0-9])(?=[0-9A-Za-z]*[A-Za-z])([0-9a-fA-F]{8,}|[0-9A-Za-z]{16,})(?![0-9A-Za-z])',
    '<id>', 'g'),
    '[0-9]+([.][0-9]+)*', '<n>', 'g'), 200), '')
  FROM (
    SELECT rtrim(left(split_part(ltrim(left(error, 4000), E' \t\r\n'), E'\n', 1), 1000), E' \t\r') COLLATE "C" AS line
  ) AS first
$function$;

CREATE OR REPLACE FUNCTION millrace.fingerprint(task text, reason text, error text)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  SELECT left(encode(sha256(convert_to(
    json_build_array(task, reason, millrace.error_template(error))::text, 'UTF8')), 'hex'), 16)
$function$;

CREATE OR REPLACE FUNCTION millrace.complete_dead_letter()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  NEW.id := (NEW.id << 16) | millrace.bucket_of_id(NEW.job_id);
  NEW.fingerprint := millrace.failure_group(NEW.task, NEW.reason::text, NEW.error);
  RETURN NEW;
END
$function$;

CREATE OR REPLACE FUNCTION millrace.add_counts(a integer[], b integer[])
 RETURNS integer[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT coalesce(array_agg(coalesce(x, 0) + coalesce(y, 0) ORDER BY n), '{}')
  FROM unnest(a, b) WITH ORDINALITY AS pair (x, y, n)
$function$;

CREATE OR REPLACE FUNCTION millrace.due_since(id uuid, scheduled_at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  SELECT CASE
    WHEN uuid_send(id) < int8send(greatest(date_part('epoch', scheduled_at) * 1000 + 1, 0)::bigint << 16)
      THEN scheduled_at
    ELSE greatest(scheduled_at,
                  to_timestamp(('x' || left(encode(uuid_send(id), 'hex'), 12))::bit(48)::bigint::float8 / 1000))
  END
$function$;

CREATE OR REPLACE FUNCTION millrace.marked_suffix(suffix text, limits uuid[])
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT CASE WHEN limits IS NULL THEN suffix ELSE '9' || substr(suffix, 2) END
$function$;

CREATE OR REPLACE FUNCTION millrace.expiry(config json, created_at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  SELECT coalesce((config ->> 'expires_at')::timestamptz,
                  created_at + (config ->> 'expires_secs')::int * interval '1 second')
$function$;

CREATE OR REPLACE FUNCTION millrace.copied_config(config json)
 RETURNS json
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT CASE WHEN coalesce(config -> 'expires_at', config -> 'unique') IS NULL THEN config
              ELSE (config::jsonb - 'expires_at' - 'unique')::json END
$function$;

CREATE OR REPLACE FUNCTION millrace.marked_suffix(suffix text, config json)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT CASE WHEN coalesce(config -> 'limits', config -> 'expires_secs', config -> 'expires_at') IS NULL THEN suffix
              ELSE '9' || substr(suffix, 2) END
$function$;

CREATE OR REPLACE FUNCTION millrace.has_rate(config json)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT CASE WHEN json_typeof(config -> 'limits') = 'array' THEN EXISTS (
    SELECT FROM json_array_elements(config -> 'limits') AS named (value)
    WHERE json_typeof(named.value -> 'rate') = 'object'
  ) ELSE false END
$function$;

CREATE OR REPLACE FUNCTION millrace.check_rules()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF coalesce(nullif(current_setting('millrace.rules', true), '')::int, 0) < OLD.rules THEN
    RAISE EXCEPTION 'the workflow goes by rules that this program does not know'
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  IF TG_OP = 'DELETE' THEN
    RETURN OLD;
  END IF;
  RETURN NEW;
END
$function$;

CREATE OR REPLACE FUNCTION millrace.check_resumed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF EXISTS (
    -- Without escapes: looking into JSON decodes them, which fails for some that payloads may have (`\u0000`).
    SELECT FROM millrace.workflows w, json_array_elements(replace(w.definition::text, '\u', '\n')::json) AS step (value)
    WHERE w.tenant = NEW.tenant AND w.id = NEW.id
      AND (json_typeof(step.value -> 'when') = 'object' OR json_typeof(step.value -> 'wait') = 'object')
  ) THEN
    RAISE EXCEPTION 'the workflow goes by rules that this program does not know'
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  RETURN NEW;
END
$function$;

CREATE OR REPLACE FUNCTION millrace.share_line(queue text, tenant text)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  SELECT (left(md5(queue), 16) || left(md5(tenant), 16))::uuid
$function$;

CREATE OR REPLACE FUNCTION millrace.holds_room(later boolean, waits_for uuid, limits uuid[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT later IS NOT FALSE OR coalesce(waits_for <> ALL (limits), false)
$function$;

CREATE OR REPLACE FUNCTION millrace.error_kind(error text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  SELECT nullif(left(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
    regexp_replace(line,
    '(["''`])[^"''`]*[.](?:png|jpe?g|gif|webp|heic|tiff?|svg|pdf|docx?|xlsx?|pptx?|odt|ods|rtf|txt|csv|tsv|'
      || 'parquet|avro|jsonl?|ndjson|xml|ya?ml|html?|zip|gz|tgz|bz2|xz|zst|tar|7z|mp[34]|mov|avi|mkv|webm|wav|ogg|'
      || 'flac|log|tmp|bin|dat)(["''`])', '\1<file>\2', 'gi'),
    '[^][\s"''`(){}<>,;=:|]+[.](?:png|jpe?g|gif|webp|heic|tiff?|svg|pdf|docx?|xlsx?|pptx?|odt|ods|rtf|txt|csv|tsv|'
      || 'parquet|avro|jsonl|ndjson|ya?ml|zip|gz|tgz|bz2|xz|zst|tar|7z|mp[34]|mov|avi|mkv|webm|wav|ogg|flac|tmp)'
      || '(?![0-9A-Za-z_])', '<file>', 'gi'),
    '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}', '<id>', 'g'),
    '(?<![0-9A-Za-z])0x[0-9a-fA-F]+(?![0-9A-Za-z])', '<id>', 'g'),
    '(?<![0-9A-Za-z])(?=[0-9A-Za-z]*[0-9])(?=[0-9A-Za-z]*[A-Za-z])([0-9a-fA-F]{8,}|[0-9A-Za-z]{16,})(?![0-9A-Za-z])',
    '<id>', 'g'),
    '(?<![0-9A-Za-z])([A-Za-z]+)_(?=[A-Za-z]*[0-9])[0-9A-Za-z]+(?![0-9A-Za-z_])', '\1_<id>', 'g'),
    '[0-9]+([.][0-9]+)*', '<n>', 'g'), 200), '')
  FROM (
    SELECT rtrim(left(split_part(ltrim(left(error, 4000), E' \t\r\n'), E'\n', 1), 1000), E' \t\r') COLLATE "C" AS line
  ) AS first
$function$;

CREATE OR REPLACE FUNCTION millrace.failure_group(task text, reason text, error text)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  SELECT left(encode(sha256(convert_to(
    json_build_array(task, reason, millrace.error_kind(error))::text, 'UTF8')), 'hex'), 16)
$function$;

CREATE OR REPLACE FUNCTION millrace.check_cell()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  cell record;
BEGIN
  SELECT c.first_bucket, c.last_bucket INTO cell FROM millrace.cell c FOR SHARE;
  IF NEW.bucket NOT BETWEEN cell.first_bucket AND cell.last_bucket THEN
    RAISE EXCEPTION 'the tenant is of another cell: its bucket is %, this database holds % to %',
      NEW.bucket, cell.first_bucket, cell.last_bucket USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  RETURN NEW;
END
$function$;

CREATE OR REPLACE FUNCTION millrace.refuse_closed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF current_setting('millrace.pruning', true) IS DISTINCT FROM 'on' THEN
    RAISE EXCEPTION 'this cell is closed: its tenants are being handed over'
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION millrace.refuse_tenant()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'the tenant is of another cell: it was handed over'
    USING ERRCODE = 'object_not_in_prerequisite_state';
END
$function$;

CREATE OR REPLACE FUNCTION millrace.refuse_unknown_tenant()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF NOT EXISTS (
    SELECT FROM millrace.tenants t, millrace.cell c
    WHERE t.tenant = NEW.tenant AND t.bucket BETWEEN c.first_bucket AND c.last_bucket
  ) THEN
    RAISE EXCEPTION 'the tenant is of another cell: it was handed over'
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  RETURN NEW;
END
$function$;

CREATE OR REPLACE FUNCTION millrace.tables_of_cell()
 RETURNS SETOF name
 LANGUAGE sql
 STABLE
AS $function$
  SELECT c.relname FROM pg_class c
  WHERE c.relnamespace = 'millrace'::regnamespace AND c.relkind IN ('r', 'p')
    AND c.relname NOT IN ('cell', 'migrations')
  ORDER BY c.relname
$function$;

CREATE OR REPLACE FUNCTION millrace.close_cell(this uuid, stays int4range, goes int4range)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  cell record;
  tab name;
BEGIN
  SELECT * INTO cell FROM millrace.cell FOR UPDATE;
  IF cell.state = 'closed' AND cell.handover = this THEN
    RETURN;
  END IF;
  IF cell.state <> 'open' OR NOT cell.pruned THEN
    RAISE EXCEPTION 'this cell takes part in another handover' USING ERRCODE = 'object_in_use';
  END IF;
  IF goes IS NULL OR isempty(goes) OR isempty(stays)
     OR int4range(cell.first_bucket, cell.last_bucket, '[]') <> coalesce(stays + goes, goes)
     OR coalesce(stays && goes, false) THEN
    RAISE EXCEPTION 'the parts do not make up the range of this cell' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  FOR tab IN SELECT millrace.tables_of_cell() LOOP
    EXECUTE format('CREATE TRIGGER closed BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON millrace.%I
                    FOR EACH STATEMENT EXECUTE FUNCTION millrace.refuse_closed()', tab);
  END LOOP;
  UPDATE millrace.cell SET state = 'closed', handover = this, keeps = stays, gives = goes;
END
$function$;

CREATE OR REPLACE FUNCTION millrace.take_part(this uuid, part int4range)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE millrace.cell SET state = 'gone', pruned = true
  WHERE part IS NULL AND handover = this AND state = 'closed' AND keeps IS NULL;
  UPDATE millrace.cell
  SET first_bucket = lower(part), last_bucket = upper(part) - 1, pruned = (keeps IS NULL)
  WHERE part IS NOT NULL AND handover = this AND state = 'closed' AND part IN (keeps, gives)
    AND int4range(first_bucket, last_bucket, '[]') = coalesce(keeps + gives, gives);
END
$function$;

CREATE OR REPLACE FUNCTION millrace.open_cell(this uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  cell record;
  tab name;
BEGIN
  SELECT * INTO cell FROM millrace.cell FOR UPDATE;
  IF cell.handover IS DISTINCT FROM this OR cell.state = 'gone' THEN
    RAISE EXCEPTION 'this cell takes part in another handover' USING ERRCODE = 'object_in_use';
  END IF;
  IF cell.state = 'open' THEN
    RETURN;
  END IF;
  FOR tab IN SELECT millrace.tables_of_cell() LOOP
    EXECUTE format('DROP TRIGGER IF EXISTS closed ON millrace.%I', tab);
  END LOOP;
  FOREACH tab IN ARRAY ARRAY['jobs', 'crons', 'workflows', 'operations'] LOOP
    EXECUTE format('DROP TRIGGER IF EXISTS others ON millrace.%I', tab);
    EXECUTE format('CREATE TRIGGER others BEFORE INSERT ON millrace.%I FOR EACH ROW
                    WHEN (millrace.bucket_of_id(NEW.id) NOT BETWEEN %s AND %s)
                    EXECUTE FUNCTION millrace.refuse_tenant()', tab, cell.first_bucket, cell.last_bucket);
  END LOOP;
  EXECUTE 'DROP TRIGGER IF EXISTS others ON millrace.signals';
  EXECUTE 'CREATE TRIGGER others BEFORE INSERT ON millrace.signals FOR EACH ROW
           EXECUTE FUNCTION millrace.refuse_unknown_tenant()';
  UPDATE millrace.cell SET state = 'open';
END
$function$;

CREATE OR REPLACE FUNCTION millrace.reopen_cell(this uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  cell record;
  tab name;
BEGIN
  SELECT * INTO cell FROM millrace.cell FOR UPDATE;
  IF cell.handover IS DISTINCT FROM this OR cell.state <> 'closed'
     OR int4range(cell.first_bucket, cell.last_bucket, '[]') <> coalesce(cell.keeps + cell.gives, cell.gives) THEN
    RAISE EXCEPTION 'this handover can only go forward' USING ERRCODE = 'object_in_use';
  END IF;
  FOR tab IN SELECT millrace.tables_of_cell() LOOP
    EXECUTE format('DROP TRIGGER IF EXISTS closed ON millrace.%I', tab);
  END LOOP;
  UPDATE millrace.cell SET state = 'open', handover = NULL, keeps = NULL, gives = NULL;
END
$function$;

CREATE OR REPLACE FUNCTION millrace.others_in(tab name)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  SELECT CASE
    WHEN tab = 'tenants' THEN
      'NOT EXISTS (SELECT FROM millrace.cell c WHERE bucket BETWEEN c.first_bucket AND c.last_bucket)'
    WHEN tab = 'limit_notes' THEN
      -- Those about a job say its tenant; the limit of such a one may not be made yet.
      'limit_id IN (SELECT l.id FROM millrace.limits l JOIN millrace.tenants t USING (tenant), millrace.cell c
                    WHERE t.bucket NOT BETWEEN c.first_bucket AND c.last_bucket)
       OR tenant IN (SELECT t.tenant FROM millrace.tenants t, millrace.cell c
                     WHERE t.bucket NOT BETWEEN c.first_bucket AND c.last_bucket)'
    WHEN a.attname = 'tenant' THEN
      'tenant IN (SELECT t.tenant FROM millrace.tenants t, millrace.cell c
                  WHERE t.bucket NOT BETWEEN c.first_bucket AND c.last_bucket)'
    ELSE format('millrace.bucket_of_id(%I) NOT BETWEEN (SELECT c.first_bucket FROM millrace.cell c)
                 AND (SELECT c.last_bucket FROM millrace.cell c)', a.attname)
  END
  FROM pg_attribute a
  WHERE a.attrelid = format('millrace.%I', tab)::regclass AND NOT a.attisdropped
    AND a.attname IN ('tenant', 'job_id', 'workflow_id', 'operation_id')
  ORDER BY array_position(ARRAY['tenant', 'operation_id', 'workflow_id', 'job_id']::name[], a.attname)
  LIMIT 1
$function$;

CREATE OR REPLACE FUNCTION millrace.prune_pages(tab name, first_page bigint, pages bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
DECLARE
  size bigint := pg_relation_size(format('millrace.%I', tab)::regclass) / current_setting('block_size')::bigint;
  condition text := millrace.others_in(tab);
  removed bigint;
BEGIN
  IF first_page >= size OR condition IS NULL THEN
    RETURN NULL;
  END IF;
  PERFORM FROM millrace.cell WHERE NOT pruned FOR SHARE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  PERFORM set_config('millrace.pruning', 'on', true);
  EXECUTE format('DELETE FROM millrace.%I WHERE ctid >= %L::tid AND ctid < %L::tid AND (%s)',
                 tab, format('(%s,0)', first_page), format('(%s,0)', first_page + pages), condition);
  GET DIAGNOSTICS removed = ROW_COUNT;
  PERFORM set_config('millrace.pruning', '', true);
  RETURN removed;
END
$function$;

CREATE OR REPLACE FUNCTION millrace.field_text(document json, field text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
BEGIN
  IF position('\u' IN document::text) = 0 THEN
    RETURN document ->> field;
  END IF;
  BEGIN
    RETURN document ->> field;
  EXCEPTION WHEN data_exception THEN
    RETURN replace(document::text, '\u', '\n')::json ->> field;
  END;
END
$function$;

CREATE TABLE millrace.migrations (
  version integer NOT NULL,
  name text NOT NULL,
  applied_at timestamp with time zone DEFAULT now() NOT NULL,
  oldest integer,
  CONSTRAINT migrations_pkey PRIMARY KEY (version),
  CONSTRAINT migrations_check CHECK ((oldest <= version))
);

CREATE TABLE millrace.tenants (
  tenant text COLLATE "C" NOT NULL,
  bucket integer NOT NULL,
  CONSTRAINT tenants_pkey PRIMARY KEY (tenant)
);

CREATE TABLE millrace.jobs (
  created_at timestamp with time zone NOT NULL,
  run_at timestamp with time zone,
  priority integer NOT NULL,
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  task text NOT NULL,
  payload json NOT NULL,
  config json,
  metadata json,
  idempotency_key text COLLATE "C",
  workflow_id uuid,
  step text,
  context integer,
  context_bytes integer,
  limits uuid[],
  CONSTRAINT jobs_pkey PRIMARY KEY (tenant, id)
);

CREATE TABLE millrace.ready (
  scheduled_at timestamp with time zone NOT NULL,
  started_at timestamp with time zone,
  priority integer NOT NULL,
  retry_count integer NOT NULL,
  delivery_count integer NOT NULL,
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  workflow_id uuid,
  error text,
  later boolean,
  size integer,
  limits uuid[],
  waits_for uuid,
  expires_at timestamp with time zone,
  CONSTRAINT ready_pkey PRIMARY KEY (tenant, id)
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=2000, autovacuum_vacuum_cost_delay=0, autovacuum_analyze_scale_factor=0.2);

CREATE TABLE millrace.leases (
  locked_until timestamp with time zone NOT NULL,
  started_at timestamp with time zone NOT NULL,
  scheduled_at timestamp with time zone,
  retry_count integer NOT NULL,
  delivery_count integer NOT NULL,
  id uuid NOT NULL,
  token uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  workflow_id uuid,
  error text,
  worker text,
  queue text COLLATE "C",
  task text,
  CONSTRAINT leases_pkey PRIMARY KEY (id)
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=2000, autovacuum_vacuum_cost_delay=0, autovacuum_analyze_scale_factor=0.2, fillfactor=80);

CREATE TABLE millrace.bundles (
  locked_until timestamp with time zone NOT NULL,
  started_at timestamp with time zone NOT NULL,
  first_id uuid NOT NULL,
  last_id uuid NOT NULL,
  token uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  open bit varying NOT NULL,
  taken bit varying NOT NULL,
  ids uuid[] NOT NULL,
  numbers smallint[],
  worker text,
  CONSTRAINT bundles_pkey PRIMARY KEY (token, tenant),
  CONSTRAINT bundles_check CHECK ((cardinality(ids) = length((open)::"bit")))
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=200, autovacuum_vacuum_cost_delay=0, autovacuum_analyze_scale_factor=0.2, fillfactor=50);

CREATE TABLE millrace.done (
  completed_at timestamp with time zone NOT NULL,
  started_at timestamp with time zone,
  scheduled_at timestamp with time zone,
  retry_count integer NOT NULL,
  delivery_count integer NOT NULL,
  status millrace.job_status NOT NULL,
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  result json,
  error text,
  worker text,
  CONSTRAINT done_pkey PRIMARY KEY (tenant, status, id),
  CONSTRAINT done_check CHECK (((result IS NOT NULL) = (status = 'completed'::millrace.job_status))),
  CONSTRAINT done_status_check CHECK ((status = ANY (ARRAY['completed'::millrace.job_status, 'failed'::millrace.job_status, 'cancelled'::millrace.job_status])))
);

CREATE TABLE millrace.idempotency_keys (
  tenant text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  job_id uuid NOT NULL,
  kind text,
  ids uuid[],
  expires_at timestamp with time zone,
  lasts boolean,
  digest bigint,
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (tenant, key)
);

CREATE TABLE millrace.dead_letters (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  created_at timestamp with time zone NOT NULL,
  replayed_at timestamp with time zone,
  job_id uuid NOT NULL,
  replay_job_id uuid,
  reason millrace.dead_reason NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  task text NOT NULL,
  error text,
  retry_count integer,
  fingerprint text COLLATE "C" NOT NULL,
  CONSTRAINT dead_letters_pkey PRIMARY KEY (id),
  CONSTRAINT dead_letters_job_id_key UNIQUE (job_id),
  CONSTRAINT dead_letters_check CHECK (((replayed_at IS NULL) = (replay_job_id IS NULL)))
);

CREATE TABLE millrace.watches (
  job_id uuid NOT NULL,
  stream uuid NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT watches_pkey PRIMARY KEY (job_id, stream)
);

CREATE TABLE millrace.transitions (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  at timestamp with time zone NOT NULL,
  scheduled_at timestamp with time zone,
  started_at timestamp with time zone,
  retry_count integer NOT NULL,
  delivery_count integer NOT NULL,
  status millrace.job_status NOT NULL,
  job_id uuid NOT NULL,
  error text,
  result json,
  locked_until timestamp with time zone,
  worker text,
  CONSTRAINT transitions_pkey PRIMARY KEY (seq)
);

CREATE TABLE millrace.loops (
  name text NOT NULL,
  last_run_at timestamp with time zone NOT NULL,
  CONSTRAINT loops_pkey PRIMARY KEY (name)
);

CREATE TABLE millrace.crons (
  created_at timestamp with time zone NOT NULL,
  next_run_at timestamp with time zone,
  last_enqueued_at timestamp with time zone,
  fired bigint DEFAULT 0 NOT NULL,
  priority integer NOT NULL,
  enabled boolean DEFAULT true NOT NULL,
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  expr text NOT NULL,
  task text,
  queue text COLLATE "C",
  payload json NOT NULL,
  config json NOT NULL,
  job_config json,
  timezone text DEFAULT 'UTC'::text NOT NULL,
  revision bigint DEFAULT 0 NOT NULL,
  limits uuid[],
  skips boolean,
  last_job_id uuid,
  workflow json,
  last_workflow_id uuid,
  CONSTRAINT crons_pkey PRIMARY KEY (tenant, id),
  CONSTRAINT crons_check CHECK (((next_run_at IS NOT NULL) OR (NOT enabled)))
) WITH (fillfactor=80);

CREATE TABLE millrace.cron_firings (
  occurrence timestamp with time zone NOT NULL,
  fired_at timestamp with time zone NOT NULL,
  number bigint NOT NULL,
  slot smallint NOT NULL,
  kind millrace.firing_kind NOT NULL,
  job_id uuid,
  cron_id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  workflow_id uuid,
  CONSTRAINT cron_firings_pkey PRIMARY KEY (tenant, cron_id, slot)
) WITH (fillfactor=80);

CREATE TABLE millrace.workflows (
  created_at timestamp with time zone NOT NULL,
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  name text NOT NULL,
  definition json NOT NULL,
  metadata json,
  CONSTRAINT workflows_pkey PRIMARY KEY (tenant, id)
);

CREATE TABLE millrace.workflow_runs (
  started_at timestamp with time zone,
  status millrace.workflow_status NOT NULL,
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  state text NOT NULL,
  unmerged integer[] DEFAULT '{}'::integer[] NOT NULL,
  context json,
  version integer,
  context_bytes integer DEFAULT 0 NOT NULL,
  resumes integer,
  rules integer,
  CONSTRAINT workflow_runs_pkey PRIMARY KEY (tenant, id),
  CONSTRAINT workflow_runs_check CHECK (((context IS NOT NULL) OR (version IS NOT NULL))),
  CONSTRAINT workflow_runs_status_check CHECK ((status = ANY (ARRAY['created'::millrace.workflow_status, 'running'::millrace.workflow_status])))
) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=2000, autovacuum_vacuum_cost_delay=0);

CREATE TABLE millrace.workflow_ends (
  completed_at timestamp with time zone NOT NULL,
  started_at timestamp with time zone,
  status millrace.workflow_status NOT NULL,
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  state text NOT NULL,
  context json,
  version integer,
  rules integer,
  CONSTRAINT workflow_ends_pkey PRIMARY KEY (tenant, status, id),
  CONSTRAINT workflow_ends_check CHECK (((context IS NOT NULL) OR (version IS NOT NULL))),
  CONSTRAINT workflow_ends_status_check CHECK ((status <> ALL (ARRAY['created'::millrace.workflow_status, 'running'::millrace.workflow_status])))
);

CREATE TABLE millrace.workflow_contexts (
  workflow_id uuid NOT NULL,
  version integer NOT NULL,
  context json NOT NULL,
  CONSTRAINT workflow_contexts_pkey PRIMARY KEY (workflow_id, version)
);

CREATE TABLE millrace.claim_marks (
  claimed_at timestamp with time zone NOT NULL,
  reach integer NOT NULL,
  token uuid NOT NULL,
  CONSTRAINT claim_marks_pkey PRIMARY KEY (token)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=200, autovacuum_vacuum_cost_delay=0);

CREATE TABLE millrace.attempts (
  started_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone NOT NULL,
  next_retry_at timestamp with time zone,
  number integer NOT NULL,
  slot smallint NOT NULL,
  outcome millrace.attempt_outcome NOT NULL,
  job_id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  worker text,
  error text,
  details json,
  CONSTRAINT attempts_pkey PRIMARY KEY (tenant, job_id, slot)
);

CREATE TABLE millrace.progress (
  at timestamp with time zone NOT NULL,
  job_id uuid NOT NULL,
  token uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  progress json NOT NULL,
  CONSTRAINT progress_pkey PRIMARY KEY (job_id)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=200, autovacuum_vacuum_cost_delay=0);

CREATE TABLE millrace.queues (
  paused_at timestamp with time zone,
  last_lease_at timestamp with time zone,
  queue text COLLATE "C" NOT NULL,
  CONSTRAINT queues_pkey PRIMARY KEY (queue)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=200);

CREATE TABLE millrace.processes (
  seen_at timestamp with time zone NOT NULL,
  id uuid NOT NULL,
  tasks text[] NOT NULL,
  CONSTRAINT processes_pkey PRIMARY KEY (id)
) WITH (fillfactor=50);

CREATE TABLE millrace.series (
  at timestamp with time zone NOT NULL,
  created bigint NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  retried bigint NOT NULL,
  cancelled bigint NOT NULL,
  step integer NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  task text COLLATE "C" NOT NULL,
  waits integer[] NOT NULL,
  runs integer[] NOT NULL,
  CONSTRAINT series_pkey PRIMARY KEY (tenant, queue, task, step, at)
) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE millrace.series_names (
  tenant text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  task text COLLATE "C" NOT NULL,
  CONSTRAINT series_names_pkey PRIMARY KEY (tenant, queue, task)
);

CREATE TABLE millrace.totals (
  created bigint NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  cancelled bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  CONSTRAINT totals_pkey PRIMARY KEY (tenant)
) WITH (fillfactor=50);

CREATE TABLE millrace.operations (
  created_at timestamp with time zone NOT NULL,
  before timestamp with time zone NOT NULL,
  completed_at timestamp with time zone,
  lease_until timestamp with time zone,
  counted_at timestamp with time zone,
  matched bigint NOT NULL,
  done bigint DEFAULT 0 NOT NULL,
  changed bigint DEFAULT 0 NOT NULL,
  skipped bigint DEFAULT 0 NOT NULL,
  completed bigint DEFAULT 0 NOT NULL,
  failed bigint DEFAULT 0 NOT NULL,
  unfinished bigint DEFAULT 0 NOT NULL,
  slot integer NOT NULL,
  action millrace.operation_action NOT NULL,
  status millrace.operation_status NOT NULL,
  exact boolean NOT NULL,
  id uuid NOT NULL,
  holder uuid,
  counted_to uuid,
  tenant text COLLATE "C" NOT NULL,
  filter json,
  scope json,
  place text,
  ids text[],
  held_until timestamp with time zone,
  CONSTRAINT operations_pkey PRIMARY KEY (id),
  CONSTRAINT operations_check CHECK (((status = 'running'::millrace.operation_status) = (completed_at IS NULL)))
) WITH (fillfactor=50);

CREATE TABLE millrace.operation_jobs (
  operation_id uuid NOT NULL,
  job_id uuid NOT NULL,
  CONSTRAINT operation_jobs_pkey PRIMARY KEY (operation_id, job_id)
);

CREATE TABLE millrace.workers (
  at timestamp with time zone NOT NULL,
  last_seen_at timestamp with time zone NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  expired bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  worker text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  CONSTRAINT workers_pkey PRIMARY KEY (tenant, at, worker, queue)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE millrace.limits (
  running integer DEFAULT 0 NOT NULL,
  most integer,
  waiting boolean DEFAULT false NOT NULL,
  id uuid NOT NULL,
  newest uuid,
  tenant text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  rate_count integer,
  rate_secs integer,
  rate_burst integer,
  tokens double precision,
  refilled_at timestamp with time zone,
  next_at timestamp with time zone,
  full_at timestamp with time zone,
  CONSTRAINT limits_pkey PRIMARY KEY (id)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=2000, autovacuum_vacuum_cost_delay=0);

CREATE TABLE millrace.limit_notes (
  given_back integer NOT NULL,
  limit_id uuid NOT NULL,
  job_id uuid,
  tenant text COLLATE "C",
  quiet boolean,
  named uuid
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=2000, autovacuum_vacuum_cost_delay=0);

CREATE TABLE millrace.checkpoints (
  at timestamp with time zone NOT NULL,
  attempt integer NOT NULL,
  job_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  value json NOT NULL,
  CONSTRAINT checkpoints_pkey PRIMARY KEY (job_id, name)
);

CREATE TABLE millrace.checkpoint_totals (
  bytes bigint NOT NULL,
  count integer NOT NULL,
  job_id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  CONSTRAINT checkpoint_totals_pkey PRIMARY KEY (job_id)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=200);

CREATE TABLE millrace.waits (
  since timestamp with time zone NOT NULL,
  until timestamp with time zone NOT NULL,
  job_id uuid NOT NULL,
  open boolean NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  checkpoint text COLLATE "C" NOT NULL,
  signal text COLLATE "C",
  key text COLLATE "C",
  ask json,
  children text[],
  CONSTRAINT waits_pkey PRIMARY KEY (job_id, checkpoint),
  CONSTRAINT waits_check CHECK (((signal IS NULL) = (key IS NULL)))
) WITH (fillfactor=80);

CREATE TABLE millrace.signals (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  job_id uuid,
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value json NOT NULL,
  workflow_id uuid,
  CONSTRAINT signals_pkey PRIMARY KEY (tenant, name, key, seq)
);

CREATE TABLE millrace.workflow_resumes (
  at timestamp with time zone NOT NULL,
  run integer NOT NULL,
  start integer NOT NULL,
  workflow_id uuid NOT NULL,
  id uuid NOT NULL,
  steps integer[] NOT NULL,
  CONSTRAINT workflow_resumes_pkey PRIMARY KEY (workflow_id, run)
);

CREATE TABLE millrace.earlier_jobs (
  run integer NOT NULL,
  workflow_id uuid NOT NULL,
  job_id uuid NOT NULL,
  step text COLLATE "C" NOT NULL,
  CONSTRAINT earlier_jobs_pkey PRIMARY KEY (workflow_id, step, run)
);

CREATE TABLE millrace.unique_keys (
  id uuid NOT NULL,
  job_id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  CONSTRAINT unique_keys_pkey PRIMARY KEY (id)
) WITH (fillfactor=80, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=2000, autovacuum_vacuum_cost_delay=0);

CREATE TABLE millrace.parents (
  pending integer DEFAULT 0 NOT NULL,
  parent_id uuid NOT NULL,
  open boolean NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  awaits text COLLATE "C",
  CONSTRAINT parents_pkey PRIMARY KEY (parent_id)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=200);

CREATE TABLE millrace.children (
  parent_id uuid NOT NULL,
  child_id uuid NOT NULL,
  status millrace.job_status,
  detached boolean NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  awaited_by text COLLATE "C",
  result json,
  error text,
  CONSTRAINT children_pkey PRIMARY KEY (parent_id, name)
) WITH (fillfactor=80);

CREATE TABLE millrace.limit_tokens (
  admitted_at timestamp with time zone NOT NULL,
  limit_id uuid NOT NULL,
  job_id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  CONSTRAINT limit_tokens_pkey PRIMARY KEY (limit_id, job_id)
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=2000, autovacuum_vacuum_cost_delay=0);

CREATE TABLE millrace.queue_limits (
  set_at timestamp with time zone NOT NULL,
  refilled_at timestamp with time zone,
  tokens double precision,
  running integer,
  rate_count integer,
  rate_secs integer,
  rate_burst integer,
  waited boolean DEFAULT false NOT NULL,
  queue text COLLATE "C" NOT NULL,
  share boolean,
  shared_since timestamp with time zone,
  turn uuid,
  CONSTRAINT queue_limits_pkey PRIMARY KEY (queue)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=200, autovacuum_vacuum_cost_delay=0);

CREATE TABLE millrace.offers (
  seen_at timestamp with time zone NOT NULL,
  slots integer,
  queue text COLLATE "C" NOT NULL,
  worker text COLLATE "C" NOT NULL,
  tasks json,
  CONSTRAINT offers_pkey PRIMARY KEY (queue, worker)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=200);

CREATE TABLE millrace.log_totals (
  bytes bigint NOT NULL,
  lines bigint NOT NULL,
  replaced bigint NOT NULL,
  attempt integer NOT NULL,
  slot smallint NOT NULL,
  job_id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  CONSTRAINT log_totals_pkey PRIMARY KEY (job_id, slot)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=200);

CREATE TABLE millrace.log_lines (
  at timestamp with time zone NOT NULL,
  start bigint NOT NULL,
  seq bigint NOT NULL,
  bytes integer NOT NULL,
  attempt integer NOT NULL,
  level smallint NOT NULL,
  job_id uuid NOT NULL,
  message text NOT NULL,
  fields json,
  CONSTRAINT log_lines_pkey PRIMARY KEY (job_id, attempt, seq)
);

CREATE TABLE millrace.cell (
  first_bucket integer NOT NULL,
  last_bucket integer NOT NULL,
  only_row boolean DEFAULT true NOT NULL,
  state text DEFAULT 'open'::text NOT NULL,
  handover uuid,
  keeps int4range,
  gives int4range,
  pruned boolean DEFAULT true NOT NULL,
  CONSTRAINT cell_pkey PRIMARY KEY (only_row),
  CONSTRAINT cell_check CHECK (((first_bucket >= 0) AND (first_bucket <= last_bucket) AND (last_bucket <= 65535))),
  CONSTRAINT cell_check1 CHECK (((state = 'open'::text) OR (handover IS NOT NULL))),
  CONSTRAINT cell_check2 CHECK (((gives IS NULL) = (handover IS NULL))),
  CONSTRAINT cell_only_row_check CHECK (only_row),
  CONSTRAINT cell_state_check CHECK ((state = ANY (ARRAY['open'::text, 'closed'::text, 'gone'::text])))
);

CREATE TABLE millrace.followed (
  until timestamp with time zone NOT NULL,
  course uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  CONSTRAINT followed_pkey PRIMARY KEY (tenant)
) WITH (fillfactor=50);

CREATE TABLE millrace.recent_ends (
  xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  at timestamp with time zone NOT NULL,
  job_id uuid NOT NULL,
  status millrace.job_status NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  CONSTRAINT recent_ends_pkey PRIMARY KEY (tenant, xid, seq)
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=2000);

CREATE TABLE millrace.pauses (
  at timestamp with time zone NOT NULL,
  queue text COLLATE "C" NOT NULL,
  operator text NOT NULL,
  reason text,
  CONSTRAINT pauses_pkey PRIMARY KEY (queue)
);

CREATE TABLE millrace.audit (
  at timestamp with time zone NOT NULL,
  id uuid NOT NULL,
  action text NOT NULL,
  target text NOT NULL,
  operator text NOT NULL,
  request_id text NOT NULL,
  before json,
  after json,
  CONSTRAINT audit_pkey PRIMARY KEY (at, id)
);

CREATE TABLE millrace.limit_returns (
  tenant text COLLATE "C" NOT NULL,
  limit_ids uuid[] NOT NULL,
  counts integer[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=200, autovacuum_vacuum_cost_delay=0);

CREATE INDEX tenants_by_bucket ON millrace.tenants USING btree (bucket);

CREATE INDEX jobs_by_queue ON millrace.jobs USING btree (tenant, queue, id) WHERE (queue IS NOT NULL);

CREATE UNIQUE INDEX jobs_of_workflow ON millrace.jobs USING btree (workflow_id, step) WHERE (workflow_id IS NOT NULL);

CREATE INDEX ready_admitted ON millrace.ready USING btree (id) WHERE ((limits IS NOT NULL) AND (later IS NOT FALSE));

CREATE INDEX ready_asleep ON millrace.ready USING btree (scheduled_at, id) WHERE ((NOT later) AND (waits_for IS NULL));

CREATE INDEX ready_expiring ON millrace.ready USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE UNIQUE INDEX ready_in_claim_order ON millrace.ready USING btree (queue, priority DESC, scheduled_at, id) WHERE (later IS NULL);

CREATE INDEX ready_in_line ON millrace.ready USING btree (waits_for, priority DESC, scheduled_at, id) WHERE (waits_for IS NOT NULL);

CREATE INDEX ready_later ON millrace.ready USING btree (queue, scheduled_at, id) WHERE later;

CREATE INDEX ready_retrying ON millrace.ready USING btree (tenant, id) WHERE (retry_count > 0);

CREATE INDEX idempotency_keys_by_expiry ON millrace.idempotency_keys USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX dead_letters_by_creation ON millrace.dead_letters USING btree (tenant, created_at, id) WHERE (tenant IS NOT NULL);

CREATE INDEX dead_letters_by_fingerprint ON millrace.dead_letters USING btree (tenant, fingerprint, created_at, id) INCLUDE (queue) WHERE (fingerprint IS NOT NULL);

CREATE INDEX transitions_by_job ON millrace.transitions USING btree (job_id, seq);

CREATE INDEX crons_by_due ON millrace.crons USING btree (tenant, (
CASE
    WHEN enabled THEN next_run_at
    ELSE 'infinity'::timestamp with time zone
END), id) WHERE (created_at > '-infinity'::timestamp with time zone);

CREATE UNIQUE INDEX crons_by_name ON millrace.crons USING btree (tenant, name) WHERE (name IS NOT NULL);

CREATE INDEX crons_by_next_run ON millrace.crons USING btree (next_run_at) WHERE enabled;

CREATE INDEX series_by_age ON millrace.series USING btree (step, at);

CREATE INDEX operations_ended ON millrace.operations USING btree (completed_at) WHERE (completed_at IS NOT NULL);

CREATE INDEX operations_of_tenant ON millrace.operations USING btree (tenant, id) WHERE (tenant IS NOT NULL);

CREATE UNIQUE INDEX operations_running ON millrace.operations USING btree (tenant, slot) WHERE (status = 'running'::millrace.operation_status);

CREATE INDEX workers_by_age ON millrace.workers USING btree (at);

CREATE INDEX limits_by_name ON millrace.limits USING btree (tenant, queue, key) WHERE (key IS NOT NULL);

CREATE INDEX limits_by_next ON millrace.limits USING btree (next_at) WHERE (next_at IS NOT NULL);

CREATE INDEX limit_notes_by_limit ON millrace.limit_notes USING btree (limit_id);

CREATE INDEX limit_notes_to_act_on ON millrace.limit_notes USING btree (limit_id) WHERE (quiet IS NOT TRUE);

CREATE INDEX waits_by_signal ON millrace.waits USING btree (tenant, signal, key, since, job_id) WHERE (open AND (signal IS NOT NULL));

CREATE INDEX waits_of_tenant ON millrace.waits USING btree (tenant, since, job_id) WHERE (open AND (signal IS NOT NULL));

CREATE INDEX signals_by_expiry ON millrace.signals USING btree (expires_at);

CREATE INDEX signals_of_jobs ON millrace.signals USING btree (job_id) WHERE (job_id IS NOT NULL);

CREATE INDEX signals_of_workflows ON millrace.signals USING btree (workflow_id) WHERE (workflow_id IS NOT NULL);

CREATE INDEX parents_open ON millrace.parents USING btree (parent_id) WHERE open;

CREATE UNIQUE INDEX children_by_child ON millrace.children USING btree (child_id);

CREATE INDEX children_of_parent ON millrace.children USING btree (parent_id, child_id);

CREATE INDEX children_unfinished ON millrace.children USING btree (parent_id, child_id) WHERE ((status IS NULL) AND (NOT detached));

CREATE UNIQUE INDEX audit_of_reads ON millrace.audit USING btree (target, operator, date_trunc('hour'::text, (at AT TIME ZONE 'UTC'::text))) WHERE (action = 'read_tenant'::text);

CREATE VIEW millrace.running AS
 SELECT l.tenant,
    l.id,
    l.token,
    l.locked_until,
    l.started_at,
    l.scheduled_at,
    l.retry_count,
    l.delivery_count,
    l.workflow_id,
    l.error,
    false AS bundled
   FROM millrace.leases l
UNION ALL
 SELECT b.tenant,
    member.id,
    b.token,
    b.locked_until,
    b.started_at,
    NULL::timestamp with time zone AS scheduled_at,
    0 AS retry_count,
    1 AS delivery_count,
    NULL::uuid AS workflow_id,
    NULL::text AS error,
    true AS bundled
   FROM millrace.bundles b,
    LATERAL unnest(b.ids) WITH ORDINALITY member(id, n)
  WHERE (get_bit((b.open)::"bit", ((member.n)::integer - 1)) = 1);

CREATE VIEW millrace.job_records AS
 SELECT j.tenant,
    j.id,
    j.queue,
    j.task,
    j.priority,
    j.payload,
    j.config,
    j.metadata,
    j.idempotency_key,
    j.workflow_id,
    j.step,
    j.created_at,
    COALESCE(c.status, f.status, x.status, (
        CASE
            WHEN (COALESCE(l.started_at, b.started_at) IS NOT NULL) THEN 'running'::text
            WHEN (r.retry_count > 0) THEN 'retrying'::text
            WHEN (r.id IS NOT NULL) THEN 'pending'::text
            ELSE NULL::text
        END)::millrace.job_status) AS status,
    COALESCE(r.scheduled_at, l.scheduled_at, c.scheduled_at, f.scheduled_at, x.scheduled_at, j.run_at, j.created_at) AS scheduled_at,
    COALESCE(r.started_at, l.started_at, c.started_at, f.started_at, x.started_at, b.started_at) AS started_at,
    COALESCE(c.completed_at, f.completed_at, x.completed_at) AS completed_at,
    COALESCE(r.retry_count, l.retry_count, c.retry_count, f.retry_count, x.retry_count,
        CASE
            WHEN (b.started_at IS NOT NULL) THEN 0
            ELSE NULL::integer
        END) AS retry_count,
    COALESCE(r.delivery_count, l.delivery_count, c.delivery_count, f.delivery_count, x.delivery_count,
        CASE
            WHEN (b.started_at IS NOT NULL) THEN 1
            ELSE NULL::integer
        END) AS delivery_count,
    COALESCE(r.error, l.error, c.error, f.error, x.error) AS error,
    COALESCE(c.result, f.result, x.result) AS result,
    j.context,
    j.context_bytes,
    COALESCE(l.worker, b.worker) AS worker,
    COALESCE(l.locked_until, b.locked_until) AS lease_expires_at,
    p.progress,
    c.worker AS completed_by
   FROM (((((((millrace.jobs j
     LEFT JOIN millrace.ready r ON (((r.tenant = j.tenant) AND (r.id = j.id))))
     LEFT JOIN millrace.leases l ON ((l.id = j.id)))
     LEFT JOIN millrace.done c ON (((c.tenant = j.tenant) AND (c.status = 'completed'::millrace.job_status) AND (c.id = j.id))))
     LEFT JOIN millrace.done f ON (((f.tenant = j.tenant) AND (f.status = 'failed'::millrace.job_status) AND (f.id = j.id))))
     LEFT JOIN millrace.done x ON (((x.tenant = j.tenant) AND (x.status = 'cancelled'::millrace.job_status) AND (x.id = j.id))))
     LEFT JOIN LATERAL ( SELECT b_1.started_at,
            b_1.locked_until,
            b_1.worker
           FROM millrace.bundles b_1
          WHERE ((r.id IS NULL) AND (l.id IS NULL) AND (c.id IS NULL) AND (f.id IS NULL) AND (x.id IS NULL) AND (b_1.tenant = j.tenant) AND ((j.id >= b_1.first_id) AND (j.id <= b_1.last_id)) AND (get_bit((b_1.open)::"bit", (array_position(b_1.ids, j.id) - 1)) = 1))) b ON (true))
     LEFT JOIN millrace.progress p ON (((p.job_id = j.id) AND (p.token = l.token))));

CREATE VIEW millrace.workflow_records AS
 SELECT w.tenant,
    w.id,
    w.name,
    w.definition,
    w.metadata,
    w.created_at,
    COALESCE(r.status, e.status) AS status,
    COALESCE(r.started_at, e.started_at) AS started_at,
    e.completed_at,
    COALESCE(r.state, e.state) AS state,
    COALESCE(r.context, e.context, c.context) AS context,
    COALESCE(r.unmerged, '{}'::integer[]) AS unmerged
   FROM (((millrace.workflows w
     LEFT JOIN millrace.workflow_runs r ON (((r.tenant = w.tenant) AND (r.id = w.id))))
     LEFT JOIN LATERAL ( SELECT e_1.completed_at,
            e_1.started_at,
            e_1.status,
            e_1.id,
            e_1.tenant,
            e_1.state,
            e_1.context,
            e_1.version
           FROM unnest('{completed,failed,partially_failed,cancelled}'::millrace.workflow_status[]) ended(status),
            LATERAL ( SELECT e_2.completed_at,
                    e_2.started_at,
                    e_2.status,
                    e_2.id,
                    e_2.tenant,
                    e_2.state,
                    e_2.context,
                    e_2.version
                   FROM millrace.workflow_ends e_2
                  WHERE ((e_2.tenant = w.tenant) AND (e_2.status = ended.status) AND (e_2.id = w.id))
                 OFFSET 0) e_1
         LIMIT 1) e ON (true))
     LEFT JOIN LATERAL ( SELECT c_1.context
           FROM millrace.workflow_contexts c_1
          WHERE ((r.context IS NULL) AND (e.context IS NULL) AND (c_1.workflow_id = w.id) AND (c_1.version = COALESCE(r.version, e.version)))
         OFFSET 0) c ON (true));

CREATE VIEW millrace.queue_settings AS
 SELECT queue,
    json_build_object('running', running, 'rate',
        CASE
            WHEN (rate_count IS NOT NULL) THEN json_build_object('count', rate_count, 'per_secs', rate_secs, 'burst', rate_burst)
            ELSE NULL::json
        END, 'share',
        CASE
            WHEN share THEN 'tenant'::text
            ELSE NULL::text
        END) AS settings
   FROM millrace.queue_limits g
  WHERE ((running IS NOT NULL) OR (rate_count IS NOT NULL) OR share);

CREATE VIEW millrace.queue_marks AS
 SELECT q.queue,
    q.paused_at,
    q.last_lease_at,
    p.reason AS paused_reason,
    p.operator AS paused_by
   FROM (millrace.queues q
     LEFT JOIN millrace.pauses p ON (((p.queue = q.queue) AND (p.at = q.paused_at))));

CREATE VIEW millrace.given_back AS
 SELECT n.limit_id,
    n.given_back AS n
   FROM millrace.limit_notes n
UNION ALL
 SELECT each.id AS limit_id,
    each.n
   FROM millrace.limit_returns r,
    LATERAL UNNEST(r.limit_ids, r.counts) each(id, n);

CREATE TRIGGER complete_dead_letter BEFORE INSERT ON millrace.dead_letters FOR EACH ROW EXECUTE FUNCTION millrace.complete_dead_letter();

CREATE TRIGGER check_rules_of_changes BEFORE UPDATE OF state ON millrace.workflow_runs FOR EACH ROW WHEN ((old.rules IS NOT NULL)) EXECUTE FUNCTION millrace.check_rules();

CREATE TRIGGER check_rules_of_ends BEFORE DELETE ON millrace.workflow_runs FOR EACH ROW WHEN ((old.rules IS NOT NULL)) EXECUTE FUNCTION millrace.check_rules();

CREATE TRIGGER check_rules_of_resumes BEFORE INSERT ON millrace.workflow_runs FOR EACH ROW WHEN (((new.rules IS NULL) AND (new.resumes > 0))) EXECUTE FUNCTION millrace.check_resumed();

CREATE TRIGGER check_cell BEFORE INSERT ON millrace.tenants FOR EACH ROW EXECUTE FUNCTION millrace.check_cell();
