import { describe, expect, it } from 'vitest';
import type { HeldJob } from '../../src/engine/leases/bundle.js';
import { ClaimMark, LEASE_EXPIRED } from '../../src/engine/leases/claim-mark.js';
import { StartGate } from '../../src/pool/start-gate.js';

/** Two claims of four jobs each, of different databases, none of which may start yet; in claim order they alternate. */
function twoClaims(suspects: readonly number[] = []): { readonly jobs: HeldJob[]; readonly marks: ClaimMark[] } {
  const marks = ['a', 'b'].map((token) => new ClaimMark(token, 4, 0));
  const jobs = Array.from({ length: 8 }, (_, n) => {
    const job = { error_message: suspects.includes(n) ? LEASE_EXPIRED : null };
    return { job, mark: marks[n % 2]!, number: Math.floor(n / 2) + 1 } as unknown as HeldJob;
  });
  return { jobs, marks };
}

interface Opened {
  readonly gate: StartGate;
  /** What was asked for, as `a2`: the second job of the first claim may start. */
  readonly asked: string[];
}

function open(): Opened {
  const asked: string[] = [];
  const ask = (mark: ClaimMark, reach: number): void => {
    if (reach <= mark.asked) return;
    mark.asked = mark.reach = reach;
    asked.push(`${mark.token}${reach}`);
  };
  return { gate: new StartGate({ ask }, { isGone: () => true }, { size: 0 }, true), asked };
}

describe('the gate of a pool on several databases', () => {
  it('asks for the jobs of all claims that are next, at once', () => {
    const { gate, asked } = open();
    const { jobs } = twoClaims();
    gate.prepare(jobs, 4, 0);
    expect(asked).toEqual(['a2', 'b2']);
    expect(jobs.map((held) => gate.mayStart(held, 0))).toEqual([true, true, true, true, false, false, false, false]);
  });

  it('asks again once half of them have started, and not before', () => {
    const { gate, asked } = open();
    const { jobs } = twoClaims();
    gate.prepare(jobs, 4, 0);
    gate.started(jobs.shift()!, 0);
    gate.prepare(jobs, 4, 0);
    expect(asked).toEqual(['a2', 'b2']);
    gate.started(jobs.shift()!, 0);
    gate.started(jobs.shift()!, 0);
    gate.prepare(jobs, 4, 0);
    expect(asked).toEqual(['a2', 'b2', 'b3', 'a4']);
  });

  it('asks for the first one however many were asked for before', () => {
    const { gate, asked } = open();
    gate.prepare(twoClaims().jobs, 8, 0);
    gate.prepare(twoClaims().jobs, 2, 0);
    expect(asked).toEqual(['a4', 'b4', 'a1', 'b1']);
  });

  it('asks for nothing behind a job that may have killed its process, and for that one alone', () => {
    const { gate, asked } = open();
    const { jobs } = twoClaims([2]);
    gate.prepare(jobs, 8, 0);
    expect(asked).toEqual(['a1', 'b1']);
    for (const held of jobs.splice(0, 2)) gate.started(held, 0);
    gate.prepare(jobs, 8, 0);
    expect(asked).toEqual(['a1', 'b1', 'a2']);
    gate.started(jobs.shift()!, 0);
    gate.prepare(jobs, 8, 0);
    expect(asked).toEqual(['a1', 'b1', 'a2', 'b4', 'a4']);
  });
});
