import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../server/test/support/server.js';
import { runKit, type ScenarioResult } from '../src/index.js';
import { SCENARIOS } from '../src/scenarios/index.js';

const WORKER = fileURLToPath(new URL('./faulty-worker.mjs', import.meta.url));

it('has the 44 scenarios, each once', () => {
  expect(SCENARIOS.map(({ number }) => number)).toEqual(Array.from({ length: 44 }, (_, index) => index + 1));
});

describe.concurrent('the kit', async () => {
  const { url: serverUrl } = await useTestServer({ config: { mode: 'api', dev: true } });
  const check = (only: readonly number[], ...fault: readonly string[]): Promise<ScenarioResult[]> =>
    runKit({ command: [process.execPath, WORKER, ...fault], serverUrl, only });

  it('passes a worker that keeps to the protocol', async () => {
    const results = await check([1, 3, 4, 5, 6, 7, 14, 17, 20, 22, 25, 30, 33]);
    expect(results.filter(({ passed }) => !passed)).toEqual([]);
    expect(results).toHaveLength(13);
  });

  it.each([
    [1, 'rounds numbers'],
    [4, 'always retries'],
    [6, 'fails what it does not know'],
    [7, 'runs too many'],
    [13, 'never heartbeats'],
    [14, 'reports lost jobs'],
    [17, 'reports once'],
    [18, 'ignores Retry-After'],
    [20, 'ignores refusals'],
    [23, 'polls in a loop'],
    [24, 'ends well'],
  ])('fails scenario %d for a worker that %s', async (number, fault) => {
    const [result] = await check([number], fault);
    expect(result).toMatchObject({ number, passed: false, problem: expect.any(String) });
    expect(result?.problem).not.toContain('the kit could not go on');
  });

  it('finds tokens in what a worker prints', async () => {
    const results = await check([5, 33], 'prints tokens');
    expect(results.map(({ number, passed }) => [number, passed])).toEqual([
      [5, true],
      [33, false],
    ]);
  });

  it('tells a command that does not work at all', async () => {
    const command = [process.execPath, '-e', 'console.error("no such module"); process.exit(3)'];
    await expect(runKit({ command, serverUrl, only: [1] })).rejects.toThrow(/code 3.*no such module/s);
  });
});
