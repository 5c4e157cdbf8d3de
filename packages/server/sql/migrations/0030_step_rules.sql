-- oldest program: 15
--
-- Steps that decide and wait (docs/adr/0039-step-rules.md). `rules`: the rules that a workflow goes by; null: those
-- that every program knows. A program that does not know them must not end its steps: it would run what was to be left
-- out. Whoever advances such a workflow says first, for its transaction, which rules it knows (`millrace.rules`).
ALTER TABLE millrace.workflow_runs ADD COLUMN rules integer;
ALTER TABLE millrace.workflow_ends ADD COLUMN rules integer;

CREATE FUNCTION millrace.check_rules() RETURNS trigger LANGUAGE plpgsql AS $$
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
$$;
CREATE TRIGGER check_rules_of_changes BEFORE UPDATE OF state ON millrace.workflow_runs
  FOR EACH ROW WHEN (OLD.rules IS NOT NULL) EXECUTE FUNCTION millrace.check_rules();
CREATE TRIGGER check_rules_of_ends BEFORE DELETE ON millrace.workflow_runs
  FOR EACH ROW WHEN (OLD.rules IS NOT NULL) EXECUTE FUNCTION millrace.check_rules();

-- A program that does not know rules would resume such a workflow without them: its run has none then.
CREATE FUNCTION millrace.check_resumed() RETURNS trigger LANGUAGE plpgsql AS $$
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
$$;
CREATE TRIGGER check_rules_of_resumes BEFORE INSERT ON millrace.workflow_runs
  FOR EACH ROW WHEN (NEW.rules IS NULL AND NEW.resumes > 0) EXECUTE FUNCTION millrace.check_resumed();

-- Signals that were sent to a workflow go with it.
ALTER TABLE millrace.signals ADD COLUMN workflow_id uuid;
CREATE INDEX signals_of_workflows ON millrace.signals (workflow_id) WHERE workflow_id IS NOT NULL;
