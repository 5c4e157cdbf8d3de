import { wholeSeconds } from '../shared/duration.js';
import { runIn, type Transaction } from '../shared/transaction.js';
import type { JsonObject } from '../json/object.js';
import { configOf, mergePolicies, type EnqueueOptions } from '../task/policy.js';
import type { AnyTask, Args, InOf } from '../task/types.js';
import type * as Wire from '../wire/index.js';
import type { AnyWorkflow, WorkflowIn } from '../workflow/types.js';
import { definitionFor } from '../workflow/workflow.js';

const ENQUEUE = `SELECT millrace_outbox.enqueue(
  $1::text, $2::text::json, $3::text, $4::text::json, $5::text::json,
  coalesce($6::text::timestamptz, clock_timestamp() + $7::text::float8 * interval '1 second'), $8::text) AS id`;
const ENQUEUE_WORKFLOW = 'SELECT millrace_outbox.enqueue_workflow($1::text::json, $2::text) AS id';

/** What starting a workflow by way of the outbox may say. */
export interface OutboxStartOptions {
  /** The same key starts one workflow. */
  key?: string;
  metadata?: JsonObject;
}

/**
 * Jobs and workflows that exist exactly if your transaction commits: they are written into the outbox in your own
 * database (docs/outbox.md), and a relay takes them to the service. Works in transactions of pg, postgres.js, Kysely,
 * Drizzle, Knex, Prisma and TypeORM.
 *
 * @example
 * await db.transaction().execute(async (trx) => {
 *   const order = await trx.insertInto('orders').values(…).returning('id').executeTakeFirstOrThrow();
 *   await outbox.enqueue(trx, sendReceipt, { order: order.id });
 * });
 */
export const outbox = {
  /**
   * Puts a job into the outbox. Returns the id of the entry: the job's idempotency key, unless a `key` is given.
   *
   * @throws InvalidRequestError if the input does not match; then your transaction need not go on
   */
  async enqueue<T extends AnyTask>(tx: Transaction, task: T, ...args: Args<InOf<T>>): Promise<string> {
    const [input = {}, options = {}] = args as [JsonObject?, EnqueueOptions?];
    await task.check(input);
    const policy = mergePolicies(task.policy, options);
    const { runAt, delay, metadata, key } = options;
    const { id } = await runIn(tx, ENQUEUE, [
      task.name,
      JSON.stringify(input),
      policy.queue ?? task.queue,
      objectText(configOf(policy, input)),
      objectText(metadata ?? {}),
      runAt?.toISOString() ?? null,
      delay === undefined ? null : String(wholeSeconds(delay)),
      key ?? null,
    ]);
    return String(id);
  },

  /** Puts the start of a workflow into the outbox. */
  async start<W extends AnyWorkflow>(
    tx: Transaction,
    workflow: W,
    input: WorkflowIn<W>,
    { key, metadata = {} }: OutboxStartOptions = {},
  ): Promise<string> {
    const request: Wire.CreateWorkflow = {
      name: workflow.name,
      ...(await definitionFor(workflow, input)),
      ...(Object.keys(metadata).length > 0 && { metadata }),
    };
    const { id } = await runIn(tx, ENQUEUE_WORKFLOW, [JSON.stringify(request), key ?? null]);
    return String(id);
  },
};

/** Null: there is nothing in it. */
const objectText = (fields: object): string | null =>
  Object.keys(fields).length === 0 ? null : JSON.stringify(fields);
