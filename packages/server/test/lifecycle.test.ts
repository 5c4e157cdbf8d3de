import { describe, expect, it } from 'vitest';
import { Lifecycle } from '../src/lifecycle.js';

describe('a lifecycle', () => {
  it('drains everything, then stops everything, the last started first', async () => {
    const lifecycle = new Lifecycle();
    const order: string[] = [];
    for (const name of ['a', 'b']) {
      lifecycle.onStop(() => void order.push(`stop ${name}`));
      lifecycle.onDrain((graceMs) => Promise.resolve(void order.push(`drain ${name} ${graceMs}`)));
    }
    await lifecycle.stop(7);
    expect(order).toEqual(['drain a 7', 'drain b 7', 'stop b', 'stop a']);
  });

  it('stops the others when one fails, and throws its failure', async () => {
    const lifecycle = new Lifecycle();
    const stopped: string[] = [];
    lifecycle.onStop(() => void stopped.push('first'));
    lifecycle.onStop(() => Promise.reject(new Error('broken')));
    lifecycle.onStop(() => void stopped.push('last'));
    await expect(lifecycle.stop(0)).rejects.toThrow('broken');
    expect(stopped).toEqual(['last', 'first']);
  });

  it('stops everything when a drain fails, and throws all failures', async () => {
    const lifecycle = new Lifecycle();
    let stopped = false;
    lifecycle.onStop(() => void (stopped = true));
    lifecycle.onStop(() => {
      throw new Error('stop');
    });
    lifecycle.onDrain(() => Promise.reject(new Error('drain')));
    const failure = await lifecycle.stop(0).catch((error: unknown) => error as AggregateError);
    expect((failure as AggregateError).errors.map(String)).toEqual(['Error: drain', 'Error: stop']);
    expect(stopped).toBe(true);
  });
});
