-- name: contexts_of_steps
-- Stored contexts, each returned once, however many jobs name it.
SELECT c.workflow_id, c.version, c.context
FROM unnest(:workflow_ids::uuid[], :versions::int[]) AS asked (workflow_id, version),
LATERAL (
  SELECT * FROM millrace.workflow_contexts c
  WHERE c.workflow_id = asked.workflow_id AND c.version = asked.version OFFSET 0
) AS c;
