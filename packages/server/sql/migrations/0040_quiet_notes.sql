-- oldest program: 15
--
-- Whoever gives back room writes a note about it and locks nothing (docs/adr/0047-notes-instead-of-locks.md). A quiet
-- note was written while nobody waited: it need not be acted upon, and is counted in by whoever holds the limit next.
-- `named`: when the job named the limit, as the id of a job that was created then; null if that is when it was created.
ALTER TABLE millrace.limit_notes ADD COLUMN quiet boolean, ADD COLUMN named uuid;
CREATE INDEX limit_notes_to_act_on ON millrace.limit_notes (limit_id) WHERE quiet IS NOT TRUE;
