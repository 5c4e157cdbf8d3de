-- oldest program: 15
--
-- Which failures are alike, anew. As error_template, with two rules more: names of files are `<file>`, and what
-- follows a word and an underscore is `<id>` as soon as it has a digit (`ch_3Mml…` and `ch_42` are of one kind). In
-- quotes, any text that ends like a file is one. Elsewhere a name has no space, and does not end in what members of
-- objects are called too: `response.json is not a function` names no file. Fingerprints are stored, so this must never
-- change: a new rule is a new function. Entries from before keep theirs.
CREATE FUNCTION millrace.error_kind(error text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
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
$$;

-- Sixteen hex digits that are the same for the same task, reason and kind of error.
CREATE FUNCTION millrace.failure_group(task text, reason text, error text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT left(encode(sha256(convert_to(
    json_build_array(task, reason, millrace.error_kind(error))::text, 'UTF8')), 'hex'), 16)
$$;

CREATE OR REPLACE FUNCTION millrace.complete_dead_letter() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.id := (NEW.id << 16) | millrace.bucket_of_id(NEW.job_id);
  NEW.fingerprint := millrace.failure_group(NEW.task, NEW.reason::text, NEW.error);
  RETURN NEW;
END
$$;
