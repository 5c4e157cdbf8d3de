import type { StepSpec } from '../../domain/workflow-records.js';
import { int4Array, jsonArray, textArray, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import { signalLock } from '../shared/signal-lock.js';

/**
 * Steps that wait for signals. The job of one is created like any other, in the transaction that sets it free; then, in
 * the same transaction, it is put to sleep until its deadline or, if the signal is there already, takes it. Whoever
 * sends the signal takes the same lock, so neither misses the other. A loop ends the job
 * (engine/durable/step-ender.ts).
 */
const sql = loadStatements('workflows/waits.sql');

/** A step whose job has just been created. */
interface CreatedStep {
  readonly tenant: string;
  readonly workflowId: string;
  readonly spec: Pick<StepSpec, 'name' | 'wait'>;
}

/** Before the rows of workflows change that go by rules which other programs may not know. */
export async function declareRules(execute: Execute, rules: readonly (number | null)[]): Promise<void> {
  const highest = Math.max(0, ...rules.map((each) => each ?? 0));
  if (highest > 0) await execute(sql.declare_rules({ rules: String(highest) }));
}

/** `jobs`: all that the transaction has created; those that do not wait are left alone. */
export async function openWaits(execute: Execute, jobs: readonly CreatedStep[]): Promise<void> {
  const waits = jobs.flatMap(({ tenant, workflowId, spec: { name, wait } }) =>
    wait ? [{ ...wait, tenant, workflowId, name, key: wait.key ?? workflowId }] : [],
  );
  if (waits.length === 0) return;
  const locks = new Set(waits.map(({ tenant, signal, key }) => signalLock(tenant, signal, key)));
  await execute(sql.lock_signals({ signals: textArray([...locks]) }));
  await execute(
    sql.open_waits({
      tenants: textArray(waits.map(({ tenant }) => tenant)),
      workflow_ids: uuidArray(waits.map(({ workflowId }) => workflowId)),
      steps: textArray(waits.map(({ name }) => name)),
      signals: textArray(waits.map(({ signal }) => signal)),
      keys: textArray(waits.map(({ key }) => key)),
      asks: jsonArray(waits.map(({ ask }) => ask)),
      secs: int4Array(waits.map(({ timeoutSecs }) => timeoutSecs)),
    }),
  );
}
