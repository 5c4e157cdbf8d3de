import { expect, it, onTestFinished } from 'vitest';
import { startTestServer } from '../support/server.js';
import { until } from '../support/until.js';

it('handlers of the program see references between steps resolved, in steps only; built-in ones do not', async () => {
  const reference = { $step: 'reserve', path: ['shelf'] };
  const payload = { at: { shelf: reference }, list: [reference, { $step: 'reserve', path: ['none'] }] };
  const server = await startTestServer({
    handlers: { reserve: () => ({ shelf: 7 }), see: (seen) => ({ seen }) },
  });
  onTestFinished(() => server.stop());
  const { a } = server;
  const { workflow_id: id } = (
    await a.post('/api/v1/workflows', {
      name: 'order',
      steps: [
        { name: 'reserve', task_name: 'reserve' },
        { name: 'mine', task_name: 'see', payload, depends_on: ['reserve'] },
        { name: 'built in', task_name: 'echo', payload, depends_on: ['reserve'] },
      ],
    })
  ).body;
  const { job_id: job } = (await a.post('/api/v1/jobs', { task_name: 'see', payload })).body;
  const ended = async (path: string): Promise<any> => {
    await until(async () => (await a.get(path)).body.status === 'completed');
    return (await a.get(path)).body;
  };

  const { context } = await ended(`/api/v1/workflows/${id}`);
  expect(context.mine.seen).toEqual({
    at: { shelf: 7 },
    list: [7, null],
    _context: { shelf: 7, reserve: { shelf: 7 } },
  });
  expect(context['built in']).toEqual(payload);
  expect((await ended(`/api/v1/jobs/${job}`)).result).toEqual({ seen: payload });
});
