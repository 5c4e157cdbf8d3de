-- What lists tell beyond the record: how large a payload is, how often a dead letter's job was retried, and which dead
-- letters failed in the same way.

-- The bytes of a payload as its reader gets it. The context of a step that is stored apart is put into it on the way
-- out, as composePayload does.
CREATE FUNCTION millrace.payload_bytes(payload json, context integer, context_bytes integer) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT octet_length(payload::text) + CASE WHEN context IS NULL THEN 0
    ELSE context_bytes + octet_length('"_context":') + (payload::text <> '{}')::int END
$$;

-- The first line of an error with what differs from one failure to the next taken out: `<id>` replaces UUIDs, hex of
-- eight digits and more, and other runs of sixteen letters and digits mixed; `<n>` replaces numbers. It is
-- cut at 200 characters, and looks at a thousand. Fingerprints are stored, so this must never change: a new rule is a
-- new function.
CREATE FUNCTION millrace.error_template(error text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT nullif(left(regexp_replace(regexp_replace(regexp_replace(regexp_replace(line,
    '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}', '<id>', 'g'),
    '(?<![0-9A-Za-z])0x[0-9a-fA-F]+(?![0-9A-Za-z])', '<id>', 'g'),
    '(?<![0-9A-Za-z])(?=[0-9A-Za-z]*[0-9])(?=[0-9A-Za-z]*[A-Za-z])([0-9a-fA-F]{8,}|[0-9A-Za-z]{16,})(?![0-9A-Za-z])',
    '<id>', 'g'),
    '[0-9]+([.][0-9]+)*', '<n>', 'g'), 200), '')
  FROM (
    SELECT rtrim(left(split_part(ltrim(left(error, 4000), E' \t\r\n'), E'\n', 1), 1000), E' \t\r') COLLATE "C" AS line
  ) AS first
$$;

-- Sixteen hex digits that are the same for the same task, reason and kind of error.
CREATE FUNCTION millrace.fingerprint(task text, reason text, error text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT left(encode(sha256(convert_to(
    json_build_array(task, reason, millrace.error_template(error))::text, 'UTF8')), 'hex'), 16)
$$;

ALTER TABLE millrace.dead_letters
  ADD COLUMN retry_count integer,  -- null: written before this column was, and its job is gone
  ADD COLUMN fingerprint text COLLATE "C";

UPDATE millrace.dead_letters d
SET fingerprint = millrace.fingerprint(d.task, d.reason::text, d.error),
    retry_count = (
      SELECT e.retry_count FROM millrace.done e WHERE e.tenant = d.tenant AND e.status = 'failed' AND e.id = d.job_id
    );

-- From now on by the trigger, for dead letters that processes of the previous version write as well.
CREATE FUNCTION millrace.complete_dead_letter() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.id := (NEW.id << 16) | millrace.bucket_of_id(NEW.job_id);
  NEW.fingerprint := millrace.fingerprint(NEW.task, NEW.reason::text, NEW.error);
  RETURN NEW;
END
$$;
DROP TRIGGER number_dead_letter ON millrace.dead_letters;
CREATE TRIGGER complete_dead_letter BEFORE INSERT ON millrace.dead_letters
  FOR EACH ROW EXECUTE FUNCTION millrace.complete_dead_letter();
DROP FUNCTION millrace.number_dead_letter();

ALTER TABLE millrace.dead_letters ALTER COLUMN fingerprint SET NOT NULL;

-- For the entries of one group, and for walking from group to group. The queue comes along, so that counting those of
-- one queue need not visit the table. The predicate keeps the lookups of the hot pool away from it.
CREATE INDEX dead_letters_by_fingerprint ON millrace.dead_letters (tenant, fingerprint, created_at, id)
  INCLUDE (queue) WHERE fingerprint IS NOT NULL;
