-- oldest program: 15
--
-- A field of metadata as text, for searches; null if there is none. Looking into JSON decodes its escapes, which fails
-- for some that callers may have stored (`\u0000`, half of a pair): such documents are looked at without escapes.
CREATE FUNCTION millrace.field_text(document json, field text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
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
$$;

-- What bulk operations can do besides.
ALTER TYPE millrace.operation_action ADD VALUE 'run_jobs_now';
ALTER TYPE millrace.operation_action ADD VALUE 'rerun_jobs';
