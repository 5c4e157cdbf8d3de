import type { Random } from '@millrace/tools-shared';
import type { Case } from './draft.js';
import { learn } from './learn.js';
import { makeCase } from './mutations/index.js';
import { judge, type Violation } from './oracle.js';
import { mayWait, RawClient, type Outcome } from './raw-client.js';
import { shrink } from './shrink.js';
import type { World } from './valid.js';

export interface Failure extends Violation {
  readonly index: number;
  readonly kind: string;
  readonly operation: string;
  readonly case: Case;
}

export interface Tally {
  sent: number;
  /** Requests in a row that got no answer. */
  unanswered: number;
  readonly byStatus: Record<string, number>;
  readonly byKind: Record<string, number>;
  readonly byRule: Record<string, number>;
  readonly failures: Failure[];
  /** The kinds of failure that were kept, including those still being shrunk. */
  readonly sorts: Set<string>;
}

export interface Plan {
  /** Each request draws from the fork with its number, so that it can be repeated alone. */
  readonly random: Random;
  readonly from: number;
  readonly count: number;
  readonly clients: number;
  readonly port: number;
  /** Called now and then; returns false to end the run, because the server is gone. */
  readonly onProgress: (sent: number) => boolean;
  readonly signal: AbortSignal;
}

const MAX_FAILURES_KEPT = 25;
const PROGRESS_EVERY = 250;
/** After this many requests in a row without an answer the server hangs, and going on would take for ever. */
const MAX_UNANSWERED = 16;

/** Many clients at once, each sending one request after another; every answer is judged. */
export async function runCampaign(world: World, plan: Plan): Promise<Tally> {
  const tally: Tally = { sent: 0, unanswered: 0, byStatus: {}, byKind: {}, byRule: {}, failures: [], sorts: new Set() };
  let next = plan.from;
  let goesOn = true;
  const sendInTurn = async (): Promise<void> => {
    const client = new RawClient(plan.port);
    while (goesOn && !plan.signal.aborted && tally.unanswered < MAX_UNANSWERED && next < plan.from + plan.count) {
      const index = next++;
      await runOne(world, plan, client, index, tally);
      if (tally.sent % PROGRESS_EVERY === 0) goesOn = plan.onProgress(tally.sent) && goesOn;
    }
    client.close();
  };
  await Promise.all(Array.from({ length: plan.clients }, sendInTurn));
  return tally;
}

async function runOne(world: World, plan: Plan, client: RawClient, index: number, tally: Tally): Promise<void> {
  const testCase = makeCase(world, plan.random.fork(index));
  const outcome = await client.send(testCase);
  tally.sent += 1;
  add(tally.byKind, testCase.kind);
  for (const status of statusesOf(outcome)) add(tally.byStatus, status);
  tally.unanswered = outcome.kind === 'hung' && !mayWait(testCase) ? tally.unanswered + 1 : 0;
  const violations = [...judge(world, testCase, outcome), ...learn(world, testCase, outcome)];
  for (const { rule, detail } of violations) {
    add(tally.byRule, rule);
    const { kind, operation } = testCase;
    if (!isNew(tally, `${rule} ${kind} ${operation.id}`)) continue;
    const smallest = await shrink(testCase, (candidate) => failsAlike(world, plan.port, candidate, { rule, detail }));
    tally.failures.push({ rule, detail, index, kind, operation: operation.id, case: smallest });
  }
}

const add = (counts: Record<string, number>, key: string): void => void (counts[key] = (counts[key] ?? 0) + 1);

const statusesOf = (outcome: Outcome): string[] =>
  outcome.kind === 'answered' ? outcome.answers.map(({ status }) => String(status)) : [outcome.kind];

/** One failure of each kind is enough to look at. */
function isNew({ sorts }: Tally, sort: string): boolean {
  if (sorts.has(sort) || sorts.size >= MAX_FAILURES_KEPT) return false;
  sorts.add(sort);
  return true;
}

async function failsAlike(world: World, port: number, candidate: Case, known: Violation): Promise<boolean> {
  const client = new RawClient(port);
  const found = judge(world, candidate, await client.send(candidate));
  client.close();
  return found.some(({ rule, detail }) => rule === known.rule && detail === known.detail);
}
