import type { HeldJob } from '../engine/leases/bundle.js';
import type { ClaimMark } from '../engine/leases/claim-mark.js';
import type { LeaseKeeper } from '../engine/leases/lease-keeper.js';
import type { Settler } from '../engine/outcomes/settle.js';
import type { AttemptLog } from './attempt-log.js';
import type { DurableJobs } from './durable-jobs.js';
import type { HeldLeases } from './held-leases.js';
import type { KeptLogs } from './kept-logs.js';
import { MarkMover } from './mark-mover.js';
import { FULL_CHARACTERS, OutcomeWriter, type OutcomeWriterOptions } from './outcome-writer.js';
import { OF_SEVERAL } from './sizing.js';

/**
 * What follows the claim, for each database: who holds the jobs, moves the marks of claims and stores outcomes. A pool
 * on several databases has a lane for each, so that outcomes of one that is away hold up none of the others. With one
 * there is nothing in between.
 *
 * A lane is held up while its database is away, does not answer that jobs may start, or has so many outcomes to store
 * that the pool would soon hold nothing else.
 */
export interface LaneParts {
  readonly settler: Settler;
  readonly keeper: Pick<LeaseKeeper, 'moveMarks'>;
  readonly heldLeases: HeldLeases;
  readonly durableJobs: DurableJobs;
  readonly keptLogs: KeptLogs;
  readonly attemptLog: AttemptLog;
  readonly isAway: () => boolean;
}

/** A mark moves in milliseconds. */
const STUCK_MS = 1_000;
const MANY_OUTCOMES = OF_SEVERAL.inHand / 2;
/** Of all lanes together. */
const FULL_OF_ALL = 2 * FULL_CHARACTERS;

/** What the pool sees of them. */
export interface Lanes {
  readonly heldLeases: Pick<HeldLeases, 'start' | 'stop' | 'add' | 'remove' | 'isGone'>;
  readonly marks: Pick<MarkMover, 'ask' | 'isMoving'>;
  readonly outcomes: Outcomes;
  readonly keptLogs: Pick<KeptLogs, 'loggerFor' | 'stop'>;
  readonly durableJobs: Pick<DurableJobs, 'begin' | 'suspensionOf'>;
  /** The lane at this place. */
  readonly isHeldUp: (place: number) => boolean;
  /** Which jobs are in lanes that are held up; null: none is. */
  heldUpJobs(): ((held: HeldJob) => boolean) | null;
  /** From now on these, in the order that `laneOf` counts them in. Jobs in hand go with their tenants. */
  use(all: readonly LaneParts[]): void;
}

interface Outcomes extends Pick<OutcomeWriter, 'hurry' | 'store' | 'noHandler'> {
  /** How many are not stored yet. */
  readonly size: number;
  /** How many of them will be in a moment, because nothing holds them up. */
  readonly due: number;
  /** There is room for nothing more. */
  readonly isFull: boolean;
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
  return laneOf === null ? alone(open(all[0]!)) : joined(all, open, laneOf);
}

/** A pool on one database waits for it. */
const alone = (lane: Lane): Lanes => ({
  ...lane,
  outcomes: dueAtOnce(lane.outcomes),
  isHeldUp: () => false,
  heldUpJobs: () => null,
  use: () => undefined,
});

const dueAtOnce = (outcomes: OutcomeWriter): Outcomes => ({
  get size() {
    return outcomes.size;
  },
  get due() {
    return outcomes.size;
  },
  get isFull() {
    return outcomes.isFull;
  },
  hurry: () => outcomes.hurry(),
  store: (held, end) => outcomes.store(held, end),
  noHandler: (held) => outcomes.noHandler(held),
});

const hasMany = ({ outcomes }: Lane): boolean => outcomes.size > MANY_OUTCOMES || outcomes.isFull;
const isHeldUp = (lane: Lane): boolean => lane.parts.isAway() || lane.marks.waitedMs > STUCK_MS || hasMany(lane);

function joined(all: readonly LaneParts[], open: (parts: LaneParts) => Lane, laneOf: (held: HeldJob) => number): Lanes {
  const lanes = all.map(open);
  const of = (held: HeldJob): Lane => lanes[laneOf(held)]!;
  const ofMark = new WeakMap<ClaimMark, Lane>();
  let onLost: ((held: HeldJob) => void) | null = null;
  const sum = (number: (outcomes: OutcomeWriter) => number, among = lanes): number =>
    among.reduce((total, { outcomes }) => total + number(outcomes), 0);
  return {
    isHeldUp: (place) => isHeldUp(lanes[place]!),
    heldUpJobs: () => {
      const waiting = lanes.filter(isHeldUp);
      return waiting.length === 0 ? null : (held) => waiting.includes(of(held));
    },
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
        return sum(({ size }) => size);
      },
      get due() {
        const flowing = lanes.filter((lane) => !isHeldUp(lane));
        return sum(({ size }) => size, flowing);
      },
      get isFull() {
        if (sum(({ characters }) => characters) > FULL_OF_ALL) return true;
        // The first of these outcomes to be stored makes room: until then no claim could bring anything.
        return lanes.every(isHeldUp) && lanes.some(hasMany);
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
