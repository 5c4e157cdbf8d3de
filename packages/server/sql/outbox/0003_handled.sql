-- Version 3: old keys of effects are found by an index in the order of time. Once their pages are used again, a summary
-- of each range of pages finds old keys everywhere, and every look would read the whole table.

CREATE INDEX IF NOT EXISTS handled_by_time ON millrace_outbox.handled (at);
DROP INDEX IF EXISTS millrace_outbox.handled_by_age;
ALTER TABLE millrace_outbox.handled SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);

INSERT INTO millrace_outbox.versions (version) VALUES (3) ON CONFLICT DO NOTHING;
