import { describe, expect, it } from 'vitest';
import { InvalidRequestError, Millrace, silentLogger, task, type, workflow } from '../../src/index.js';
import { definitionFor } from '../../src/workflow/workflow.js';
import { scriptedFetch } from '../support/scripted-fetch.js';

const reserve = task({
  name: 'reserve',
  queue: 'stock',
  input: type<{ sku: string }>(),
  output: type<{ shelf: number; tags: string[] }>(),
});
const ship = task({
  name: 'ship',
  queue: 'parcels',
  input: type<{ shelf: number; tags?: string[]; all?: unknown }>(),
  retries: { max: 1 },
});
const base = workflow({ name: 'order', input: type<{ sku: string }>() }).step('reserve', reserve, {
  payload: ({ input }) => ({ sku: input.sku }),
});

describe('the steps of a workflow', () => {
  it('are sent with references, their own queues and policies', async () => {
    const flow = base.step('ship', ship, {
      after: ['reserve'],
      onFailure: 'skip',
      retries: { delay: '5s' },
      metadata: { by: 'test' },
      payload: ({ steps }) => ({ shelf: steps.reserve.shelf, tags: steps.reserve.tags, all: steps.reserve }),
    });
    expect(JSON.parse(JSON.stringify((await definitionFor(flow, { sku: 'a' })).steps))).toEqual([
      { name: 'reserve', task_name: 'reserve', payload: { sku: 'a' }, depends_on: [], queue: 'stock', config: {} },
      {
        name: 'ship',
        task_name: 'ship',
        payload: {
          shelf: { $step: 'reserve', path: ['shelf'] },
          tags: { $step: 'reserve', path: ['tags'] },
          all: { $step: 'reserve' },
        },
        depends_on: ['reserve'],
        queue: 'parcels',
        config: { max_retries: 1, retry_delay_secs: 5 },
        on_failure: 'skip',
        metadata: { by: 'test' },
      },
    ]);
    expect(base.steps).toEqual(['reserve']);
  });

  it('cannot compute with a result, spread it or set it, also where the compiler did not look', async () => {
    const tries: ((steps: any) => object)[] = [
      (steps) => ({ shelf: steps.reserve.shelf + 1 }),
      (steps) => ({ shelf: `${steps.reserve.shelf}` }),
      (steps) => ({ ...steps.reserve }),
      (steps) => Object.assign(steps.reserve, { shelf: 1 }),
    ];
    for (const payload of tries) {
      const flow = base.step('ship', ship, { after: ['reserve'], payload: ({ steps }) => payload(steps) as never });
      await expect(definitionFor(flow, { sku: 'a' }), String(payload)).rejects.toThrow('steps.reserve');
    }
  });

  it('see only what is upstream', async () => {
    const flow = base.step('ship', ship, { payload: ({ steps }) => ({ shelf: (steps as any).reserve?.shelf ?? 0 }) });
    expect((await definitionFor(flow, { sku: 'a' })).steps[1]!.payload).toEqual({ shelf: 0 });
  });

  it('cannot hold data that workers would take for a reference', async () => {
    const flow = base.step('ship', ship, { payload: () => ({ shelf: 1, all: { $step: 'reserve' } }) });
    await expect(definitionFor(flow, { sku: 'a' })).rejects.toThrow('$step');
  });

  it('are refused at once if they have a name twice or follow what is not above', () => {
    expect(() => base.step('reserve' as never, ship, { payload: () => ({ shelf: 1 }) })).toThrow('already');
    expect(() => base.step('ship', ship, { after: ['later' as never], payload: () => ({ shelf: 1 }) })).toThrow(
      'later',
    );
  });
});

describe('a workflow', () => {
  it('without steps is refused before anything is sent', async () => {
    const { fetch, calls } = scriptedFetch({});
    const millrace = new Millrace({ fetch, logger: silentLogger });
    await expect(millrace.start(workflow({ name: 'empty' }), {})).rejects.toBeInstanceOf(InvalidRequestError);
    expect(calls).toEqual([]);
  });
});
