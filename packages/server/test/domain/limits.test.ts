import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { admit, placeNew, type Line, type Room } from '../../src/domain/limits.js';
import { cases } from '../support/cases.js';

interface Job {
  readonly id: number;
  readonly priority: number;
  readonly limits: readonly string[];
}

const KEYS = ['x', 'y', 'z'];
const HEADS = 3;

/**
 * The service as a plain model: what waits and what runs, in memory. Lines are shown as the database shows them: in
 * order, one job more than there is room for, and no more than HEADS.
 */
class Model {
  readonly rooms = new Map<string, Room>(KEYS.map((key) => [key, { running: 0, most: 1, waiting: false }]));
  readonly running = new Set<Job>();
  readonly lines = new Map<Job, string>();
  #next = 0;

  create(priority: number, limits: readonly string[]): void {
    const job = { id: this.#next++, priority, limits };
    const place = placeNew(limits, this.rooms);
    if (place === null) this.running.add(job);
    else this.lines.set(job, place);
  }

  end(n: number): void {
    const job = [...this.running][n % Math.max(1, this.running.size)];
    if (!job) return;
    this.running.delete(job);
    for (const id of job.limits) this.rooms.get(id)!.running--;
  }

  cancel(n: number): void {
    const job = [...this.lines.keys()][n % Math.max(1, this.lines.size)];
    if (job) this.lines.delete(job);
  }

  /** Looks at these limits, while others are held by somebody else. */
  look(ids: readonly string[], held: ReadonlySet<string>): void {
    const rooms = new Map([...this.rooms].filter(([id]) => !held.has(id)));
    const lines = ids.filter((id) => rooms.has(id)).map((id) => this.#line(id));
    const { moves } = admit(lines, rooms);
    for (const { job, to } of moves) {
      if (to !== null) this.lines.set(job, to);
      else if (this.lines.delete(job)) this.running.add(job);
    }
  }

  /** Until nothing changes. */
  settle(): void {
    for (let round = 0; round < 50; round++) this.look(KEYS, new Set());
  }

  inLine(id: string): Job[] {
    const jobs = [...this.lines].filter(([, line]) => line === id).map(([job]) => job);
    return jobs.sort((one, two) => two.priority - one.priority || one.id - two.id);
  }

  #line(limit: string): Line<Job> {
    const { running, most } = this.rooms.get(limit)!;
    const all = this.inLine(limit);
    const shown = Math.max(0, Math.min(most - running, HEADS)) + 1;
    return { limit, jobs: all.slice(0, shown), isWhole: all.length < shown };
  }
}

type Step =
  | { readonly kind: 'create'; readonly priority: number; readonly limits: readonly string[] }
  | { readonly kind: 'end' | 'cancel'; readonly n: number }
  | { readonly kind: 'look'; readonly ids: readonly string[]; readonly held: readonly string[] }
  | { readonly kind: 'change'; readonly id: string; readonly most: number };

const key = fc.constantFrom(...KEYS);
const limits = fc.uniqueArray(key, { minLength: 1, maxLength: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('create' as const), priority: fc.nat(2), limits }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('end' as const, 'cancel' as const), n: fc.nat(20) }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('look' as const), ids: fc.subarray(KEYS), held: fc.subarray(KEYS) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('change' as const), id: key, most: fc.integer({ min: 1, max: 3 }) }),
  },
);

function take(model: Model, each: Step): void {
  switch (each.kind) {
    case 'create':
      return model.create(each.priority, each.limits);
    case 'end':
      return model.end(each.n);
    case 'cancel':
      return model.cancel(each.n);
    case 'look':
      return model.look(each.ids, new Set(each.held));
    case 'change':
      model.rooms.get(each.id)!.most = each.most;
  }
}

const countOf = (model: Model, id: string): number =>
  [...model.running].filter((job) => job.limits.includes(id)).length;

describe('the rule of limits', () => {
  it('admits nobody beyond a limit, counts exactly who runs, and knows of everybody who waits', () => {
    const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const model = new Model();
      for (const each of steps) {
        const before = new Map(KEYS.map((id) => [id, countOf(model, id)]));
        take(model, each);
        for (const [id, { running, most, waiting }] of model.rooms) {
          expect(running).toBe(countOf(model, id));
          if (running > before.get(id)!) expect(running).toBeLessThanOrEqual(most);
          if (model.inLine(id).length > 0) expect(waiting).toBe(true);
        }
      }
    });
    fc.assert(property, { numRuns: cases(300) });
  });

  it('leaves nobody waiting who could run, once everything was looked at often enough', () => {
    const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const model = new Model();
      for (const each of steps) take(model, each);
      model.settle();
      const hasRoom = (id: string): boolean => model.rooms.get(id)!.running < model.rooms.get(id)!.most;
      for (const [job] of model.lines) expect(job.limits.every(hasRoom)).toBe(false);
      // And nobody waits once there is nothing left to wait for.
      for (let rounds = 0; rounds < 200 && model.running.size > 0; rounds++) {
        model.end(rounds);
        model.settle();
      }
      expect([model.running.size, model.lines.size]).toEqual([0, 0]);
    });
    fc.assert(property, { numRuns: cases(200) });
  });

  it('lets the line of a limit in by priority, then by age', () => {
    const property = fc.property(fc.array(fc.nat(2), { minLength: 2, maxLength: 20 }), (priorities) => {
      const model = new Model();
      for (const priority of priorities) model.create(priority, ['x']);
      const [first] = model.running;
      const expected = [first!, ...model.inLine('x')].map(({ id }) => id);
      const started: number[] = [];
      while (model.running.size > 0) {
        started.push(...[...model.running].map(({ id }) => id));
        model.end(0);
        model.look(['x'], new Set());
      }
      expect(started).toEqual(expected);
    });
    fc.assert(property, { numRuns: cases(100) });
  });

  it('does not let a new job overtake those who wait', () => {
    const rooms = new Map([['x', { running: 0, most: 1, waiting: true }]]);
    expect(placeNew(['x'], rooms)).toBe('x');
    expect(rooms.get('x')).toEqual({ running: 0, most: 1, waiting: true });
  });

  it('names a limit that somebody else holds, and moves nobody who needs it', () => {
    const rooms = new Map([['x', { running: 0, most: 1, waiting: false }]]);
    const [both, alone] = [{ limits: ['x', 'y'] }, { limits: ['x'] }];
    const { moves, missing, unfinished } = admit([{ limit: 'x', jobs: [both, alone], isWhole: true }], rooms);
    expect(moves).toEqual([{ job: alone, from: 'x', to: null }]);
    expect([...missing]).toEqual([['y', both]]);
    expect([...unfinished]).toEqual([]);
    expect(rooms.get('x')).toEqual({ running: 1, most: 1, waiting: true });
  });
});
