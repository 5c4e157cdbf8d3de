-- name: notify
-- Wakes every process that listens, this one included.
SELECT pg_notify('millrace', :message);
