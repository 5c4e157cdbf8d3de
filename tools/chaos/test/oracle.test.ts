import { describe, expect, it } from 'vitest';
import type { Answer, Call, Claim } from '../src/history/calls.js';
import { History } from '../src/history/history.js';
import type { JobRecord } from '../src/oracle/model.js';
import { judge } from '../src/oracle/oracle.js';

const JOB = 'job-1';
const [FIRST, SECOND] = ['first-token', 'second-token'];

/** A history written by hand: each call with the times of its start and its end; without an end there was no answer. */
class Script {
  readonly history = new History();
  #n = 0;

  call(
    op: Call['op'],
    [startedAt, endedAt]: readonly [number, number?],
    facts: Partial<Call>,
    answer?: Partial<Answer>,
  ): this {
    const id = String(++this.#n);
    this.history.call({ id, op, method: 'POST', path: `/${op}`, startedAt, ...facts });
    if (endedAt !== undefined) this.history.answer({ id, endedAt, status: 204, ...answer });
    return this;
  }

  created(at = 0): this {
    return this.call('create', [at, at + 1], {}, { status: 201, created: [JOB] });
  }

  claimed(at: number, token: string, counts: Partial<Claim> = {}, secs = 1): this {
    const claim = { job: JOB, token, retries: 0, deliveries: 1, ...counts };
    return this.call('lease', [at, at + 1], { queue: 'q', secs }, { status: 200, claims: [claim] });
  }

  report(op: 'complete' | 'fail', at: readonly [number, number?], token: string, status = 204): this {
    return this.call(op, at, { job: JOB, token, retryable: true }, { status });
  }

  judged(record: Partial<JobRecord> | null, poolQueues: readonly string[] = []): readonly string[] {
    const full: JobRecord = {
      id: JOB,
      status: 'completed',
      retries: 0,
      deliveries: 1,
      maxRetries: 3,
      queue: 'q',
      resultBy: FIRST,
      inWorkflow: false,
      ...record,
    };
    const records = new Map(record === null ? [] : [[JOB, full]]);
    return judge({ history: this.history, records, poolQueues: new Set(poolQueues) });
  }
}

const script = (): Script => new Script();

describe('the oracle accepts', () => {
  it('a job that is created, claimed and completed, and completed again', () => {
    const history = script()
      .created()
      .claimed(10, FIRST)
      .report('complete', [20, 21], FIRST)
      .report('complete', [30, 31], FIRST);
    expect(history.judged({})).toEqual([]);
  });

  it('a reclaim after the lease expired, with the old holder refused', () => {
    const history = script()
      .created()
      .claimed(10, FIRST)
      .claimed(2_000, SECOND, { retries: 1, deliveries: 2 })
      .report('complete', [2_010, 2_011], FIRST, 409)
      .report('complete', [2_020, 2_021], SECOND);
    expect(history.judged({ retries: 1, deliveries: 2, resultBy: SECOND })).toEqual([]);
  });

  it('a completion without an answer, whether it took effect or not', () => {
    const history = script().created().claimed(10, FIRST).report('complete', [20], FIRST);
    expect(history.judged({})).toEqual([]);
    expect(history.judged({ status: 'running', resultBy: null })).toEqual([]);
    expect(history.judged({ status: 'retrying', retries: 1, resultBy: null })).toEqual([]);
  });

  it('a claim whose answer was lost, and the retry after it', () => {
    const history = script()
      .created()
      .call('lease', [10], { queue: 'q', secs: 1 })
      .claimed(7_000, SECOND, { retries: 1, deliveries: 2 })
      .report('complete', [7_010, 7_011], SECOND);
    expect(history.judged({ retries: 1, deliveries: 2, resultBy: SECOND })).toEqual([]);
  });

  it('what the pool of a server did on its own, and 503 during an outage', () => {
    expect(script().created().judged({ resultBy: null }, ['q'])).toEqual([]);
    const history = script();
    const end = history.history.beginOutage();
    history.call('get', [performance.now() + 1e9, performance.now() + 1e9], { job: JOB }, { status: 503 });
    expect(history.judged({ status: 'pending', deliveries: 0 })).toEqual([]);
    end();
  });
});

describe('the oracle refuses', () => {
  it('an acknowledged job that is gone', () => {
    expect(script().created().judged(null)).toEqual([expect.stringContaining('does not exist')]);
  });

  it('a job claimed twice in one delivery', () => {
    const history = script().created().claimed(10, FIRST).claimed(11, SECOND).report('complete', [20, 21], FIRST);
    expect(history.judged({})).toEqual([expect.stringContaining('impossible')]);
  });

  it('a reclaim before the lease expired', () => {
    const history = script()
      .created()
      .claimed(10, FIRST, {}, 30)
      .claimed(2_000, SECOND, { retries: 1, deliveries: 2 })
      .report('complete', [2_020, 2_021], SECOND);
    expect(history.judged({ retries: 1, deliveries: 2, resultBy: SECOND })).toEqual([
      expect.stringContaining('impossible'),
    ]);
  });

  it('a stale token that was accepted while another held the job', () => {
    const history = script()
      .created()
      .claimed(10, FIRST)
      .claimed(2_000, SECOND, { retries: 1, deliveries: 2 })
      .report('complete', [2_010, 2_011], FIRST)
      .report('complete', [2_020, 2_021], SECOND);
    expect(history.judged({ retries: 1, deliveries: 2, resultBy: SECOND })).toEqual([
      expect.stringContaining('impossible'),
    ]);
  });

  it('a second completion: both holders were told that they had finished the job, and the second result counts', () => {
    const history = script()
      .created()
      .claimed(10, FIRST)
      .report('complete', [20, 21], FIRST)
      .report('complete', [30, 31], SECOND);
    expect(history.judged({ resultBy: SECOND })).toEqual([expect.stringContaining('impossible')]);
  });

  it('a completion that was acknowledged and is missing', () => {
    const history = script().created().claimed(10, FIRST).report('complete', [20, 21], FIRST);
    expect(history.judged({ status: 'retrying', retries: 1, resultBy: null })).toEqual([
      expect.stringContaining('impossible'),
    ]);
  });

  it('a job that was revived after its end', () => {
    const history = script()
      .created()
      .call('cancel', [5, 6], { job: JOB })
      .claimed(10, FIRST)
      .report('complete', [20, 21], FIRST);
    expect(history.judged({})).toEqual([expect.stringContaining('impossible')]);
  });

  it('a read that shows a state the job was not in', () => {
    const history = script()
      .created()
      .claimed(10, FIRST)
      .report('complete', [20, 21], FIRST)
      .call('get', [30, 31], { job: JOB }, { status: 200, seen: { status: 'running', retries: 0, deliveries: 1 } });
    expect(history.judged({})).toEqual([expect.stringContaining('impossible')]);
  });

  it('500 at any time, and 503 outside an outage', () => {
    const history = script().call('other', [1, 2], {}, { status: 500 }).call('other', [1, 2], {}, { status: 503 });
    expect(history.judged({})).toEqual([
      expect.stringContaining('answered 500'),
      expect.stringContaining('outside an outage'),
    ]);
  });
});
