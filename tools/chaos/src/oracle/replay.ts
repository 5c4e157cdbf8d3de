import { after, applyStep, CREATED, failed, type JobRecord, type JobState, type Step } from './model.js';

/**
 * Whether what the clients of one job were told can be true: is there an order of their calls, each taking effect
 * between its start and its answer, in which every answer follows from the table of transitions, and which ends in the
 * state that the database holds? A call without an answer may have taken effect at any time since it was sent, or
 * never. Between calls the service may act on its own: it reclaims a lease that has expired, and never one that has
 * not.
 *
 * The search tries every call that may come next and remembers where it has been. Calls about one job seldom overlap,
 * so it is short.
 */
export interface Unseen {
  /** There may be claims whose answer nobody got: by a worker killed while it waited, or by the pool of a server. */
  readonly claims: boolean;
  /** The pool of a server works on this queue, so jobs also end without a call. */
  readonly pool: boolean;
}

/** The database's clock runs at the pace of the wall clock, which may be slewed against the monotonic one. */
const CLOCK_TOLERANCE_MS = 100;

/** Null if the history is possible, otherwise how far it could be followed. */
export function replay(steps: readonly Step[], record: JobRecord, unseen: Unseen): string | null {
  const ordered = [...steps].sort((a, b) => a.startedAt - b.startedAt);
  const end: Step = { kind: 'end', startedAt: Infinity, endedAt: Infinity, certain: true };
  const certain = ordered.filter((step) => step.certain).length;
  const visited = new Set<string>();
  let furthest: { readonly count: number; readonly stuck: string } = { count: -1, stuck: '' };

  const visit = (state: JobState, done: bigint, count: number): boolean => {
    const key = `${done}|${keyOf(state)}`;
    if (visited.has(key)) return false;
    visited.add(key);
    const rest = ordered.map((step, index) => ({ step, index })).filter(({ index }) => !(done & (1n << BigInt(index))));
    const left = rest.filter(({ step }) => step.certain);
    if (left.length === 0 && reachable(state, end, record, unseen).some((reached) => applyStep(reached, end, record)))
      return true;
    const deadline = Math.min(...left.map(({ step }) => step.endedAt));
    for (const { step, index } of rest) {
      if (step.startedAt > deadline) break;
      for (const before of reachable(state, step, record, unseen)) {
        const next = applyStep(before, step, record);
        if (next !== null && visit(next, done | (1n << BigInt(index)), count + Number(step.certain))) return true;
      }
    }
    if (count > furthest.count)
      furthest = { count, stuck: `${describe(state)}, then ${explain(left[0]?.step ?? end, record)}` };
    return false;
  };
  if (visit(CREATED, 0n, 0)) return null;
  return `${furthest.count} of ${certain} answers explained: ${furthest.stuck}`;
}

/** Every state that the service may have reached on its own before `step` took effect. */
function reachable(from: JobState, step: Step, record: JobRecord, unseen: Unseen): readonly JobState[] {
  const found = new Map([[keyOf(from), from]]);
  for (const state of found.values()) {
    for (const next of silent(state, step, record, unseen)) {
      // Counts only grow, so a state beyond the record's counts cannot lead to it.
      if (next === null || next.deliveries > record.deliveries || next.retries > record.retries) continue;
      if (!found.has(keyOf(next))) found.set(keyOf(next), next);
    }
  }
  return [...found.values()];
}

function silent(state: JobState, step: Step, record: JobRecord, unseen: Unseen): readonly (JobState | null)[] {
  if (state.status === 'running') {
    const expired = step.endedAt + CLOCK_TOLERANCE_MS >= state.heldUntil ? [failed(state, 'expire', record)] : [];
    // Otherwise only the holder of the lease can end it, and a token that a client was told is not the pool's.
    const byPool = unseen.pool && state.token === null ? endings(state, record) : [];
    const byWorkflow = record.inWorkflow ? [after(state, 'cancel')] : [];
    return [...expired, ...byPool, ...byWorkflow];
  }
  return [
    ...(unseen.claims || unseen.pool ? [after(state, 'claim', { deliveries: state.deliveries + 1 })] : []),
    ...(record.inWorkflow ? [after(state, 'cancel')] : []),
  ];
}

function endings(state: JobState, record: JobRecord): readonly (JobState | null)[] {
  return [
    after(state, 'complete', { completedBy: 'unseen' }),
    failed(state, 'fail', record),
    after(state, 'fail_permanently'),
    after(state, 'handler_missing'),
    after(state, state.retries > 0 ? 'release_retry' : 'release_first'),
  ];
}

const keyOf = (s: JobState): string =>
  [s.status, s.token, s.heldUntil, s.retries, s.deliveries, s.completedBy].join(',');

const short = (token: string | null): string => (token === null ? 'nobody' : token.slice(0, 8));

const describe = (s: JobState): string =>
  `${s.status}${s.status === 'running' ? ` under ${short(s.token)}` : ''} (${countsOf(s)})`;

const countsOf = ({ retries, deliveries }: Pick<JobState, 'retries' | 'deliveries'>): string =>
  `${retries} retries, ${deliveries} deliveries`;

function explain(step: Step, record: JobRecord): string {
  switch (step.kind) {
    case 'end':
      return `the record says ${record.status} (${countsOf(record)}, by ${short(record.resultBy)})`;
    case 'claim':
      return `a claim under ${short(step.token)} (${countsOf(step)})`;
    case 'get':
      return `a read of ${step.seen ?? 'nothing'} (${countsOf(step)})`;
    case 'cancel':
      return `cancel answered ${step.status ?? 'nothing'}`;
    case 'heartbeat':
    case 'complete':
    case 'fail':
      return `${step.kind} under ${short(step.token)} answered ${step.status ?? 'nothing'}`;
  }
}
