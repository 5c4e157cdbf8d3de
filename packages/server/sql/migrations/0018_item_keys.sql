-- oldest program: 15
--
-- The key of a batch's item lives with its job and at least seven days, so that whoever could not read the answer can
-- repeat the item that late. A job that is removed before leaves its key behind, which then expires by itself. Null for
-- every other key, which costs nothing.
ALTER TABLE millrace.idempotency_keys ADD COLUMN lasts boolean;
