import { WORKFLOW_MAX_DEPENDENCIES, WORKFLOW_STEP_LIMITS } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { workflowsOf, hand, step } from './kit.js';

describe('the diagram of a workflow', async () => {
  const { a, worker } = await useTestServer({ config: { mode: 'api' } });
  const workflows = workflowsOf(a);
  const remote = hand(worker);
  const draw = async (id: string): Promise<string[]> => {
    const reply = await a.get(`/api/v1/workflows/${id}/diagram`);
    expect(reply.status).toBe(200);
    expect(Object.keys(reply.body)).toEqual(['format', 'diagram']);
    expect(reply.body.format).toBe('mermaid');
    return reply.body.diagram.split('\n').map((line: string) => line.trim());
  };
  const isColour = (line: string): boolean => line.startsWith('classDef');

  it('has the steps in the order of their definition, and one arrow per dependency', async () => {
    const id = await workflows.create([
      step('join', ['left', 'right']),
      step('left'),
      step('right'),
      step('so "it" ends', ['join']),
    ]);
    expect((await draw(id)).filter((line) => !isColour(line))).toEqual([
      'graph TD',
      'join["join"]:::pending',
      'left["left"]:::pending',
      'right["right"]:::pending',
      's3["so#32;#34;it#34;#32;ends"]:::pending',
      'left --> join',
      'right --> join',
      'join --> s3',
    ]);
  });

  it('follows the statuses', async () => {
    const id = await workflows.create([
      step('a'),
      step('b', [], { on_failure: 'skip' }),
      step('c', ['b']),
      step('d', [], { on_failure: 'continue' }),
      step('e'),
      step('f', ['e']),
    ]);
    await remote.complete(id, 'a');
    await remote.fail(id, 'b');
    await workflows.cancelJob(id, 'd');
    const lines = await draw(id);
    expect(lines.filter((line) => line.includes(':::')).map((line) => line.split(':::')[1])).toEqual([
      ...['completed', 'failed', 'skipped', 'cancelled', 'running', 'pending'],
    ]);
    expect(lines.filter(isColour)).toHaveLength(6);
  });

  const name = (n: number, filler: string): string => `${n}`.padStart(3, '0').padEnd(255, filler);
  /**
   * As many steps and dependencies as a workflow may have: each step but the first depends on up to 21 of those before
   * it.
   */
  const largest = (nameOf: (n: number) => string): object[] => {
    let left = WORKFLOW_MAX_DEPENDENCIES;
    return Array.from({ length: WORKFLOW_STEP_LIMITS.maximum }, (_, n) => {
      const count = Math.min(21, n, left);
      left -= count;
      return step(
        nameOf(n),
        Array.from({ length: count }, (_, k) => nameOf(n - 1 - k)),
      );
    });
  };

  it.each([
    ['short words', (n: number) => `step${n}`],
    ['words as long as an id may be', (n: number) => `w${n}`.padEnd(64, 'w')],
    ['long words', (n: number) => `w${n}`.padEnd(255, 'w')],
    ['letters of three bytes', (n: number) => name(n, '歩')],
    ['signs that are written as entities', (n: number) => name(n, '"')],
  ])('of the largest workflow there can be is shorter than a megabyte, with names of %s', async (_, nameOf) => {
    const { diagram } = (await a.get(`/api/v1/workflows/${await workflows.create(largest(nameOf))}/diagram`)).body;
    expect(Buffer.byteLength(diagram)).toBeLessThan(1024 * 1024);
    expect(diagram.match(/ --> /g)).toHaveLength(WORKFLOW_MAX_DEPENDENCIES);
    expect(diagram.match(/:::pending/g)).toHaveLength(WORKFLOW_STEP_LIMITS.maximum);
  });
});
