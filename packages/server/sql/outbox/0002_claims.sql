-- Version 2: what a relay takes is one row, for all of it, instead of a change to each entry. Sending an entry then
-- costs the application's database an insert and a delete. Relays of version 1 may still run beside those of version 2:
-- what both send becomes one job, by its key.

CREATE TABLE IF NOT EXISTS millrace_outbox.claims (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  taken_at timestamptz NOT NULL DEFAULT now(),
  last bigint NOT NULL,                -- the highest of seqs
  seqs bigint[] NOT NULL               -- the entries, which may have been sent since
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
-- Compressing it would take longer than writing it.
ALTER TABLE millrace_outbox.claims ALTER COLUMN seqs SET STORAGE EXTERNAL;

-- Entries are changed no longer, except by relays of version 1 and when a claim fails.
ALTER TABLE millrace_outbox.entries SET (fillfactor = 100);

-- Takes the oldest entries that nobody holds, in the order of writing, up to so many and so many bytes, but at least
-- one. A relay that has not answered for hold_secs is dead: its entries are free, and were tried. from_seq and
-- from_claim are where to begin: what was deleted before them costs nothing. `oldest` is the next from_claim.
--
-- One at a time, because only who sees all earlier claims knows what is free. The answer is small, so that a relay that
-- has stopped reading holds nobody up. Entries come and go faster than the planner hears of it, so it is told to walk
-- along the index: to sort all that waits, for each thousand of it, would take longer than everything else.
CREATE OR REPLACE FUNCTION millrace_outbox.claim(
  from_seq bigint,
  from_claim bigint,
  hold_secs float8,
  max_entries integer,
  max_bytes bigint
) RETURNS TABLE (claim bigint, entries integer, last bigint, oldest bigint)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
#variable_conflict use_column
DECLARE
  dead_at timestamptz := now() - hold_secs * interval '1 second';
  first_id bigint;
  first_at timestamptz;
  taken bigint[];
  bytes bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(7162114921839);
  SELECT min(c.id), min(c.taken_at) INTO first_id, first_at FROM millrace_outbox.claims c WHERE c.id >= from_claim;
  IF first_at < dead_at THEN
    WITH dead AS (
      DELETE FROM millrace_outbox.claims c WHERE c.id >= from_claim AND c.taken_at < dead_at
      RETURNING c.taken_at, c.seqs
    )
    UPDATE millrace_outbox.entries e SET tried_at = least(e.tried_at, t.taken_at)
    FROM (SELECT dead.taken_at, unnest(dead.seqs) AS seq FROM dead) AS t WHERE e.seq = t.seq;
  END IF;
  SELECT array_agg(f.seq), sum(f.size) INTO taken, bytes FROM (
    SELECT e.seq, e.size FROM millrace_outbox.entries e
    WHERE e.seq >= from_seq AND (e.taken_at IS NULL OR e.taken_at < dead_at)
      AND e.seq NOT IN (
        SELECT unnest(c.seqs) FROM millrace_outbox.claims c WHERE c.id >= from_claim AND c.last >= from_seq
      )
    ORDER BY e.seq LIMIT max_entries
  ) AS f;
  IF taken IS NULL THEN
    RETURN;
  END IF;
  IF bytes > max_bytes THEN
    SELECT array_agg(s.seq) INTO taken FROM (
      SELECT e.seq, sum(e.size) OVER (ORDER BY e.seq) AS bytes FROM millrace_outbox.entries e
      WHERE e.seq = ANY (taken)
    ) AS s WHERE s.bytes <= max_bytes OR s.seq = taken[1];
  END IF;
  RETURN QUERY
    INSERT INTO millrace_outbox.claims AS c (seqs, last) VALUES (taken, taken[cardinality(taken)])
    RETURNING c.id, cardinality(taken), c.last, coalesce(first_id, c.id);
END $$;

REVOKE ALL ON ALL TABLES IN SCHEMA millrace_outbox FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA millrace_outbox FROM PUBLIC;

-- Who could run a relay of version 1 can run one of version 2.
DO $$
DECLARE
  relay text;
BEGIN
  FOR relay IN
    SELECT DISTINCT a.grantee::regrole::text FROM pg_class t, aclexplode(t.relacl) AS a
    WHERE t.oid = 'millrace_outbox.entries'::regclass AND a.privilege_type = 'DELETE'
      AND a.grantee NOT IN (0, t.relowner)
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON millrace_outbox.claims TO %s', relay);
    EXECUTE format('GRANT EXECUTE ON FUNCTION millrace_outbox.claim TO %s', relay);
  END LOOP;
END $$;

INSERT INTO millrace_outbox.versions (version) VALUES (2) ON CONFLICT DO NOTHING;
