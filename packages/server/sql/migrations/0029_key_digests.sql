-- oldest program: 15
--
-- What a request was that used an idempotency key, as a number: a repeat with another body is told so. Null: a program
-- that did not know it took the key.
ALTER TABLE millrace.idempotency_keys ADD COLUMN digest bigint;
