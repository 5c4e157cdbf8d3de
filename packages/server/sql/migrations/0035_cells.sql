-- oldest program: 15
--
-- Which tenants belong to this database (docs/adr/0042-ranges.md): those whose buckets are in the range. One row; a
-- database that is the only one has all of them.
CREATE TABLE millrace.cell (
  first_bucket integer NOT NULL,
  last_bucket integer NOT NULL,
  only_row boolean NOT NULL DEFAULT true PRIMARY KEY CHECK (only_row),
  CHECK (first_bucket >= 0 AND first_bucket <= last_bucket AND last_bucket <= 65535)
);
INSERT INTO millrace.cell (first_bucket, last_bucket) VALUES (0, 65535);

-- Whatever a process takes this database for, no tenant of another one begins here. Locks the range, so that it cannot
-- become narrower meanwhile; tenants are registered once.
CREATE FUNCTION millrace.check_cell() RETURNS trigger LANGUAGE plpgsql AS $$
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
$$;
CREATE TRIGGER check_cell BEFORE INSERT ON millrace.tenants
  FOR EACH ROW EXECUTE FUNCTION millrace.check_cell();
