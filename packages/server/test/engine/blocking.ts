import pg from 'pg';
import type { TestDatabase } from '../support/database.js';
import { TENANT_A } from '../support/server.js';
import { lockWaits } from '../support/lock-waits.js';

/**
 * Blocks the server's statements at a point of the test's choosing, by locks: races become a matter of order, not luck.
 */
export interface Block {
  /** Resolves once that many statements of the server wait for a lock. */
  held(statements?: number): Promise<void>;
  release(): Promise<void>;
}

/**
 * Every claim of the job waits when it takes the lease: this session has inserted one with the same id, uncommitted.
 */
export const blockClaimOf = (database: TestDatabase, jobId: string): Promise<Block> =>
  block(
    database.homeOf(jobId),
    `INSERT INTO millrace.leases (locked_until, started_at, retry_count, delivery_count, id, token, tenant)
     VALUES (now(), now(), 0, 0, $1, gen_random_uuid(), '')`,
    [jobId],
  );

/** Whatever ends or extends the job's lease waits. */
export const blockLeaseOf = (database: TestDatabase, jobId: string): Promise<Block> =>
  block(database.homeOf(jobId), 'SELECT FROM millrace.leases WHERE id = $1 FOR UPDATE', [jobId]);

/** Whatever takes a job out of the job's bundle waits. */
export const blockBundleOf = (database: TestDatabase, jobId: string): Promise<Block> =>
  block(database.homeOf(jobId), 'SELECT FROM millrace.bundles WHERE $1 = ANY (ids) FOR UPDATE', [jobId]);

/** Nobody else gets hold of the limits of the queue, as while a batch of creates names them all. */
export const blockLimitsOf = (database: TestDatabase, queue: string): Promise<Block> =>
  block(database.homeOf(TENANT_A), 'SELECT FROM millrace.limits WHERE queue = $1 FOR NO KEY UPDATE', [queue]);

/** Every claim that counts what runs on the queue waits. */
export const blockGateOf = (database: TestDatabase, queue: string): Promise<Block> =>
  block(database.homeOf(TENANT_A), 'SELECT FROM millrace.queue_limits WHERE queue = $1 FOR UPDATE', [queue]);

/** Whatever creates a workflow waits. */
export const blockWorkflows = (database: TestDatabase): Promise<Block> =>
  block(database.homeOf(TENANT_A), 'LOCK TABLE millrace.workflows IN EXCLUSIVE MODE', []);

/** Whatever resumes or removes the ended workflow waits. */
export const blockEndOf = (database: TestDatabase, workflowId: string): Promise<Block> =>
  block(database.homeOf(workflowId), 'SELECT FROM millrace.workflow_ends WHERE id = $1 FOR UPDATE', [workflowId]);

/** Whatever ends a step of the workflow waits. */
export const blockRunOf = (database: TestDatabase, workflowId: string): Promise<Block> =>
  block(database.homeOf(workflowId), 'SELECT FROM millrace.workflow_runs WHERE id = $1 FOR UPDATE', [workflowId]);

async function block(database: TestDatabase, text: string, values: unknown[]): Promise<Block> {
  const client = new pg.Client({ connectionString: database.url, application_name: 'test kit' });
  await client.connect();
  await client.query('BEGIN');
  await client.query(text, values);
  return {
    held: (statements = 1) => lockWaits(database, { statements }),
    release: async () => {
      await client.query('ROLLBACK');
      await client.end();
    },
  };
}
