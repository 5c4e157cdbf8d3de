-- oldest program: 15
--
-- Since when a waiting job could be claimed: since it was due or, if it was created with an instant that had passed by
-- then, since its creation. That is in its id, but costs too much to be unpacked for each job that is counted. So the
-- id is first compared with the earliest that a job of that instant can have, to the millisecond and as bytes.
CREATE FUNCTION millrace.due_since(id uuid, scheduled_at timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN uuid_send(id) < int8send(greatest(date_part('epoch', scheduled_at) * 1000 + 1, 0)::bigint << 16)
      THEN scheduled_at
    ELSE greatest(scheduled_at,
                  to_timestamp(('x' || left(encode(uuid_send(id), 'hex'), 12))::bit(48)::bigint::float8 / 1000))
  END
$$;
