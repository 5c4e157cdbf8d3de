import { describe, expect, it } from 'vitest';
import { criticalPath, type StepTimes } from '../../../src/lib/graph/critical-path.js';

const step = (name: string, dependsOn: string[], startedAt: number | null, endedAt: number | null): StepTimes => ({
  name,
  dependsOn,
  startedAt,
  endedAt,
});

describe('the critical path', () => {
  it('goes back from the last end by way of whatever ended last', () => {
    const steps = [
      step('reserve', [], 0, 10),
      step('charge', [], 0, 30),
      step('ship', ['reserve', 'charge'], 31, 50),
      step('receipt', ['charge'], 31, 35),
    ];
    expect(criticalPath(steps, 1000)).toEqual({ names: ['charge', 'ship'], ms: 50 });
  });

  it('ends at what is running, up to now', () => {
    const steps = [step('a', [], 0, 10), step('b', ['a'], 12, null), step('c', ['b'], null, null)];
    expect(criticalPath(steps, 40)).toEqual({ names: ['a', 'b'], ms: 40 });
  });

  it('is empty while nothing has started', () => {
    expect(criticalPath([step('a', [], null, null)], 40)).toEqual({ names: [], ms: 0 });
    expect(criticalPath([], 40)).toEqual({ names: [], ms: 0 });
  });

  it('ignores dependencies that never started, such as skipped ones, and ends on a cycle', () => {
    expect(criticalPath([step('a', [], null, null), step('b', ['a'], 5, 9)], 40).names).toEqual(['b']);
    expect(criticalPath([step('a', ['b'], 1, 2), step('b', ['a'], 2, 3)], 40).names).toEqual(['a', 'b']);
  });
});
