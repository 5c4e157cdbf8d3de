-- oldest program: 15
--
-- What operators do (docs/adr/0045-operators.md).

-- Why a queue is paused, and who did it: of the pause that began at `at`, and of no other, since programs that do not
-- know this table pause and resume as well. Beside `queues`, which every claim reads.
CREATE TABLE millrace.pauses (
  at timestamptz NOT NULL,
  queue text COLLATE "C" NOT NULL,
  operator text NOT NULL,
  reason text,
  PRIMARY KEY (queue)
);

-- What is known of a queue besides how much it holds.
CREATE VIEW millrace.queue_marks AS
SELECT q.queue, q.paused_at, q.last_lease_at, p.reason AS paused_reason, p.operator AS paused_by
FROM millrace.queues q LEFT JOIN millrace.pauses p ON p.queue = q.queue AND p.at = q.paused_at;

-- The last that operators did. Where the service has several databases, what concerns all of them has the same instant
-- and the same id in each.
CREATE TABLE millrace.audit (
  at timestamptz NOT NULL,
  id uuid NOT NULL,
  action text NOT NULL,
  target text NOT NULL,
  operator text NOT NULL,
  request_id text NOT NULL,
  before json,
  after json,
  PRIMARY KEY (at, id)
);
-- An operator who reads as a tenant is recorded once an hour.
CREATE UNIQUE INDEX audit_of_reads ON millrace.audit (target, operator, date_trunc('hour', at AT TIME ZONE 'UTC'))
  WHERE action = 'read_tenant';
