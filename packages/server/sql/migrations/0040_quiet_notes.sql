-- oldest program: 15
--
-- Whoever gives back room writes a note about it and locks nothing (docs/adr/0047-notes-instead-of-locks.md). A quiet
-- note was written while nobody waited: it need not be acted upon, and is counted in by whoever holds the limit next.
ALTER TABLE millrace.limit_notes ADD COLUMN quiet boolean;
CREATE INDEX limit_notes_to_act_on ON millrace.limit_notes (limit_id) WHERE quiet IS NOT TRUE;
