-- Claims that depend neither on how many priorities a queue has, nor on how many of its jobs wait for the future, nor
-- on how large they are (docs/adr/0015-claim-order.md); and dead letters whose ids lead to their tenant.

-- later  null: in claim order. True: its instant was in the future when the row was written, so it stands apart
--        (`ready_later`) until a claim finds it due, and takes it or moves it into claim order.
-- size   bytes of what a claim has to carry for the job; null below 8 KiB. See job_size.
ALTER TABLE millrace.ready ADD COLUMN later boolean, ADD COLUMN size integer;

-- What a job counts for in the byte budget of a claim. Small ones count for nothing: a thousand of them are 8 MiB at
-- most. One expression without a FROM, so that PostgreSQL puts it in place of the call. The server says the same of
-- jobs that it creates (src/engine/jobs/enqueue.ts).
CREATE FUNCTION millrace.job_size(payload json, metadata json, error text) RETURNS integer
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
  SELECT nullif(greatest(8191,
    octet_length(payload::text) + coalesce(octet_length(metadata::text), 0) + coalesce(octet_length(error), 0)), 8191)
$$;

-- What waits already. The rows are replaced, not updated: an update within a page would keep the index that is built in
-- this transaction from being used while an older snapshot is held anywhere.
DROP INDEX millrace.ready_in_claim_order;
WITH gone AS (
  DELETE FROM millrace.ready r USING millrace.jobs j
  WHERE j.tenant = r.tenant AND j.id = r.id
    AND (r.scheduled_at > now() OR millrace.job_size(j.payload, j.metadata, r.error) IS NOT NULL)
  RETURNING r.scheduled_at, r.started_at, r.priority, r.retry_count, r.delivery_count, r.id, r.tenant, r.queue,
            r.workflow_id, r.error, millrace.job_size(j.payload, j.metadata, r.error) AS size
)
INSERT INTO millrace.ready (scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue,
                            workflow_id, error, later, size)
SELECT scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue, workflow_id, error,
       CASE WHEN scheduled_at > now() THEN true END, size
FROM gone;

CREATE UNIQUE INDEX ready_in_claim_order ON millrace.ready (queue, priority DESC, scheduled_at, id) WHERE later IS NULL;
CREATE INDEX ready_later ON millrace.ready (queue, scheduled_at, id) WHERE later;

-- The tenant's bucket, which every id of a job carries (src/domain/ids.ts).
CREATE FUNCTION millrace.bucket_of_id(id uuid) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT ('x' || substr(id::text, 25, 4))::bit(16)::integer $$;

-- The id of a dead letter is its number followed by the 16 bits of its tenant's bucket, so that it leads to its tenant
-- as all other ids do; below 2^53 for 137 billion of them. By a trigger, because the number comes from the identity
-- column, whose sequence a role that may only change rows cannot ask for itself. Entries that exist keep their ids:
-- those are in other people's hands. New ones are greater than all of them, so the order stands.
CREATE FUNCTION millrace.number_dead_letter() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  NEW.id := (NEW.id << 16) | millrace.bucket_of_id(NEW.job_id);
  RETURN NEW;
END
$$;
CREATE TRIGGER number_dead_letter BEFORE INSERT ON millrace.dead_letters
FOR EACH ROW EXECUTE FUNCTION millrace.number_dead_letter();
