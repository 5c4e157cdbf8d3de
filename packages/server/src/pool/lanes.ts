import type { HeldJob } from '../engine/leases/bundle.js';
import type { ClaimMark } from '../engine/leases/claim-mark.js';
import type { LeaseKeeper } from '../engine/leases/lease-keeper.js';
import type { Settler } from '../engine/outcomes/settle.js';
import type { AttemptLog } from './attempt-log.js';
import type { DurableJobs } from './durable-jobs.js';
import type { HeldLeases } from './held-leases.js';
import type { KeptLogs } from './kept-logs.js';
import { MarkMover } from './mark-mover.js';
import { OutcomeWriter, type OutcomeWriterOptions } from './outcome-writer.js';

/**
 * What follows the claim, for each database: who holds the jobs, moves the marks of claims and stores outcomes. A pool
 * on several databases has a lane for each, so that outcomes of one that is away hold up none of the others. With one
 * there is nothing in between.
 */
export interface LaneParts {
  readonly settler: Settler;
  readonly keeper: Pick<LeaseKeeper, 'moveMarks'>;
  readonly heldLeases: HeldLeases;
  readonly durableJobs: DurableJobs;
  readonly keptLogs: KeptLogs;
  readonly attemptLog: AttemptLog;
}

/** What the pool sees of them. */
export interface Lanes {
  readonly heldLeases: Pick<HeldLeases, 'start' | 'stop' | 'add' | 'remove' | 'isGone'>;
  readonly marks: Pick<MarkMover, 'ask' | 'isMoving'>;
  readonly outcomes: Pick<OutcomeWriter, 'size' | 'isFull' | 'hurry' | 'store' | 'noHandler'>;
  readonly keptLogs: Pick<KeptLogs, 'loggerFor' | 'stop'>;
  readonly durableJobs: Pick<DurableJobs, 'begin' | 'suspensionOf'>;
  /** From now on these, in the order that `laneOf` counts them in. Jobs in hand go with their tenants. */
  use(all: readonly LaneParts[]): void;
}

type Writing = Pick<OutcomeWriterOptions, 'pace' | 'progress' | 'logger' | 'triesMs'>;

interface Lane extends LaneParts {
  readonly parts: LaneParts;
  readonly marks: MarkMover;
  readonly outcomes: OutcomeWriter;
}

/** Without `laneOf` there is one, for good. */
export function openLanes(
  all: readonly LaneParts[],
  laneOf: ((held: HeldJob) => number) | null,
  writing: Writing,
): Lanes {
  const open = (parts: LaneParts): Lane => {
    const marks = new MarkMover(parts.keeper, writing.progress);
    return { ...parts, parts, marks, outcomes: new OutcomeWriter({ ...parts, ...writing, marks }) };
  };
  return laneOf === null ? { ...open(all[0]!), use: () => undefined } : joined(all, open, laneOf);
}

function joined(all: readonly LaneParts[], open: (parts: LaneParts) => Lane, laneOf: (held: HeldJob) => number): Lanes {
  const lanes = all.map(open);
  const of = (held: HeldJob): Lane => lanes[laneOf(held)]!;
  const ofMark = new WeakMap<ClaimMark, Lane>();
  let onLost: ((held: HeldJob) => void) | null = null;
  return {
    use: (next) => {
      const known = new Map(lanes.map((lane) => [lane.parts, lane]));
      const before = lanes.splice(0, lanes.length, ...next.map((parts) => known.get(parts) ?? open(parts)));
      if (onLost !== null) for (const lane of lanes) if (!before.includes(lane)) lane.heldLeases.start(onLost);
      for (const lane of before)
        for (const held of lane.heldLeases.takeOut((job) => of(job) !== lane)) of(held).heldLeases.add(held);
      for (const lane of before.filter((each) => !lanes.includes(each))) {
        void lane.heldLeases.stop();
        lane.keptLogs.stop();
      }
    },
    heldLeases: {
      start: (lose) => {
        onLost = lose;
        lanes.forEach(({ heldLeases }) => heldLeases.start(lose));
      },
      stop: async () => void (await Promise.all(lanes.map(({ heldLeases }) => heldLeases.stop()))),
      add: (held) => {
        const lane = of(held);
        if (held.mark) ofMark.set(held.mark, lane);
        lane.heldLeases.add(held);
      },
      remove: (held) => of(held).heldLeases.remove(held),
      isGone: (held) => of(held).heldLeases.isGone(held),
    },
    marks: {
      ask: (mark, reach) => ofMark.get(mark)!.marks.ask(mark, reach),
      get isMoving() {
        return lanes.some(({ marks }) => marks.isMoving);
      },
    },
    outcomes: {
      get size() {
        return lanes.reduce((sum, { outcomes }) => sum + outcomes.size, 0);
      },
      get isFull() {
        return lanes.some(({ outcomes }) => outcomes.isFull);
      },
      hurry: () => lanes.forEach(({ outcomes }) => outcomes.hurry()),
      store: (held, end) => of(held).outcomes.store(held, end),
      noHandler: (held) => of(held).outcomes.noHandler(held),
    },
    keptLogs: {
      loggerFor: (held) => of(held).keptLogs.loggerFor(held),
      stop: () => lanes.forEach(({ keptLogs }) => keptLogs.stop()),
    },
    durableJobs: {
      begin: (attempt) => of(attempt.leased).durableJobs.begin(attempt),
      suspensionOf: (wait) => lanes[0]!.durableJobs.suspensionOf(wait),
    },
  };
}
