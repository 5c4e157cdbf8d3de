import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { polls, hand, step } from './kit.js';

describe('66: the diagram of a workflow', async () => {
  const { a, worker } = await useTestServer({ config: { mode: 'api' } });
  const mine = polls(a);
  const remote = hand(worker);
  const draw = async (id: string): Promise<string[]> => {
    const reply = await a.get(`/api/v1/workflows/${id}/diagram`);
    expect(reply.status).toBe(200);
    expect(Object.keys(reply.body)).toEqual(['format', 'diagram']);
    expect(reply.body.format).toBe('mermaid');
    return reply.body.diagram.split('\n').map((line: string) => line.trim());
  };
  const isColour = (line: string): boolean => line.startsWith('classDef');

  it('has the steps in the order of their definition, and an arrow a dependency', async () => {
    const id = await mine.create([
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
    const id = await mine.create([
      step('a'),
      step('b', [], { on_failure: 'skip' }),
      step('c', ['b']),
      step('d', [], { on_failure: 'continue' }),
      step('e'),
      step('f', ['e']),
    ]);
    await remote.complete(id, 'a');
    await remote.fail(id, 'b');
    await mine.cancelJob(id, 'd');
    const lines = await draw(id);
    expect(lines.filter((line) => line.includes(':::')).map((line) => line.split(':::')[1])).toEqual([
      ...['completed', 'failed', 'skipped', 'cancelled', 'running', 'pending'],
    ]);
    expect(lines.filter(isColour)).toHaveLength(6);
  });
});
