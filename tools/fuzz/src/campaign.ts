import type { Case } from './draft.js';
import { learn } from './learn.js';
import { makeCase } from './mutations/index.js';
import { judge, type Violation } from './oracle.js';
import { Random } from './random.js';
import { shrink } from './shrink.js';
import type { World } from './valid.js';
import { mayWait, Wire, type Outcome } from './wire.js';

/** Many clients at once, each sending one request after the other, and a judgement on every answer. */
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
  /** Of the failures that were kept, shrinking ones included. */
  readonly sorts: Set<string>;
}

export interface Plan {
  readonly seed: number;
  readonly from: number;
  readonly count: number;
  readonly lanes: number;
  readonly port: number;
  /** Called every now and then; false ends the run, because there is nobody left to ask. */
  readonly onProgress: (sent: number) => boolean;
  readonly signal: AbortSignal;
}

const MAX_FAILURES_KEPT = 25;
const PROGRESS_EVERY = 250;
/** So many without an answer, one after the other: the server hangs, and going on would take for ever. */
const MAX_UNANSWERED = 16;

export async function runCampaign(world: World, plan: Plan): Promise<Tally> {
  const tally: Tally = { sent: 0, unanswered: 0, byStatus: {}, byKind: {}, byRule: {}, failures: [], sorts: new Set() };
  let next = plan.from;
  let goesOn = true;
  const lane = async (): Promise<void> => {
    const wire = new Wire(plan.port);
    while (goesOn && !plan.signal.aborted && tally.unanswered < MAX_UNANSWERED && next < plan.from + plan.count) {
      const index = next++;
      await runOne(world, plan, wire, index, tally);
      if (tally.sent % PROGRESS_EVERY === 0) goesOn = plan.onProgress(tally.sent) && goesOn;
    }
    wire.close();
  };
  await Promise.all(Array.from({ length: plan.lanes }, lane));
  return tally;
}

async function runOne(world: World, { seed, port }: Plan, wire: Wire, index: number, tally: Tally): Promise<void> {
  const each = makeCase(world, Random.at(seed, index));
  const outcome = await wire.send(each);
  tally.sent += 1;
  add(tally.byKind, each.kind);
  for (const status of statusesOf(outcome)) add(tally.byStatus, status);
  tally.unanswered = outcome.kind === 'hung' && !mayWait(each) ? tally.unanswered + 1 : 0;
  const violations = [...judge(world, each, outcome), ...learn(world, each, outcome)];
  for (const { rule, detail } of violations) {
    add(tally.byRule, rule);
    if (!isNew(tally, `${rule} ${each.kind} ${each.operation.id}`)) continue;
    const smallest = await shrink(each, (candidate) => failsAlike(world, port, candidate, { rule, detail }));
    tally.failures.push({ rule, detail, index, kind: each.kind, operation: each.operation.id, case: smallest });
  }
}

const add = (counts: Record<string, number>, key: string): void => void (counts[key] = (counts[key] ?? 0) + 1);

const statusesOf = (outcome: Outcome): string[] =>
  outcome.kind === 'answered' ? outcome.answers.map(({ status }) => String(status)) : [outcome.kind];

/** One of each sort is enough to look at. */
function isNew({ sorts }: Tally, sort: string): boolean {
  if (sorts.has(sort) || sorts.size >= MAX_FAILURES_KEPT) return false;
  sorts.add(sort);
  return true;
}

async function failsAlike(world: World, port: number, candidate: Case, known: Violation): Promise<boolean> {
  const wire = new Wire(port);
  const found = judge(world, candidate, await wire.send(candidate));
  wire.close();
  return found.some(({ rule, detail }) => rule === known.rule && detail === known.detail);
}
