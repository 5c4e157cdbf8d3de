-- oldest program: 15
--
-- Handing tenants over to another database (docs/adr/0046-handing-over.md): a copy of this one is made, both are
-- closed, each takes its part of the range, and what belongs to the other is removed.
--
-- open    tenants of the range are served
-- closed  nobody writes, whatever a process believes; the copy is closed too, because it is a copy
-- gone    another database has taken over all of its tenants
ALTER TABLE millrace.cell
  ADD COLUMN state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closed', 'gone')),
  -- Which handover it takes part in, or took part in last.
  ADD COLUMN handover uuid,
  -- What stays, and what the copy gets. Nothing may stay.
  ADD COLUMN keeps int4range,
  ADD COLUMN gives int4range,
  -- False: rows of tenants that now belong to another database are still here.
  ADD COLUMN pruned boolean NOT NULL DEFAULT true,
  ADD CHECK (state = 'open' OR handover IS NOT NULL),
  ADD CHECK ((gives IS NULL) = (handover IS NULL));

-- For every statement on a closed database, except those that remove what belongs to the other.
CREATE FUNCTION millrace.refuse_closed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('millrace.pruning', true) IS DISTINCT FROM 'on' THEN
    RAISE EXCEPTION 'this cell is closed: its tenants are being handed over'
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  RETURN NULL;
END
$$;

-- For rows of a tenant that was handed over: a process may still believe that the tenant is registered here.
CREATE FUNCTION millrace.refuse_tenant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the tenant is of another cell: it was handed over'
    USING ERRCODE = 'object_not_in_prerequisite_state';
END
$$;

-- The same where no id carries the bucket.
CREATE FUNCTION millrace.refuse_unknown_tenant() RETURNS trigger LANGUAGE plpgsql AS $$
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
$$;

CREATE FUNCTION millrace.tables_of_cell() RETURNS SETOF name LANGUAGE sql STABLE AS $$
  SELECT c.relname FROM pg_class c
  WHERE c.relnamespace = 'millrace'::regnamespace AND c.relkind IN ('r', 'p')
    AND c.relname NOT IN ('cell', 'migrations')
  ORDER BY c.relname
$$;

-- From here on nobody writes. A trigger waits until those have ended who are writing to its table; so whatever was
-- acknowledged comes before this transaction, also in the copy.
CREATE FUNCTION millrace.close_cell(this uuid, stays int4range, goes int4range) RETURNS void LANGUAGE plpgsql AS $$
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
$$;

-- Takes one of the parts for good. The database stays closed until the live rows of the other part are removed; one
-- that keeps nothing stays closed for ever.
CREATE FUNCTION millrace.take_part(this uuid, part int4range) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE millrace.cell SET state = 'gone', pruned = true
  WHERE part IS NULL AND handover = this AND state = 'closed' AND keeps IS NULL;
  UPDATE millrace.cell
  SET first_bucket = lower(part), last_bucket = upper(part) - 1, pruned = (keeps IS NULL)
  WHERE part IS NOT NULL AND handover = this AND state = 'closed' AND part IN (keeps, gives)
    AND int4range(first_bucket, last_bucket, '[]') = coalesce(keeps + gives, gives);
END
$$;

-- Serves again: within its range, and nobody else.
CREATE FUNCTION millrace.open_cell(this uuid) RETURNS void LANGUAGE plpgsql AS $$
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
$$;

-- As if it had never been closed, while no part has been taken. The copy, if it was promoted, stays closed for ever:
-- nobody takes part in its handover any more.
CREATE FUNCTION millrace.reopen_cell(this uuid) RETURNS void LANGUAGE plpgsql AS $$
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
$$;

-- Which rows of a table belong to tenants of another database. Null: the table is about no tenant.
CREATE FUNCTION millrace.others_in(tab name) RETURNS text LANGUAGE sql STABLE AS $$
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
$$;

-- Removes them from so many pages of the table. Null: the table has no such page.
CREATE FUNCTION millrace.prune_pages(tab name, first_page bigint, pages bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
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
$$;
