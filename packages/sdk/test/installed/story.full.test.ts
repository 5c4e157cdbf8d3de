import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../../server/test/support/until.js';
import { Millrace, silentLogger } from '../../src/index.js';
import { runProgram, type Program } from '../support/programs.js';
import { emptyFolder, node, npm, pack, runToEnd } from '../support/tarballs.js';

const APPLICATION = fileURLToPath(new URL('programs/thumbnails/', import.meta.url));
const PACKAGES = ['contract', 'sdk', 'dashboard', 'server', 'cli'];
const OTHERS = ['express@5', '@types/express@5', '@types/node@20', 'typescript@6', 'tsx@4'];

/**
 * The first hours of somebody who begins with the README and ends with an application that makes thumbnails, with the
 * packages as they are published, in an empty folder: as `npm init -y` leaves it, and as ES modules.
 */
describe('from the README to an own application', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await emptyFolder();
    await npm(['init', '-y'], folder);
    await npm(['install', ...(await pack(PACKAGES)), ...OTHERS], folder);
    await cp(APPLICATION, folder, { recursive: true });
    const readme = await readFile(new URL('../../../../README.md', import.meta.url), 'utf8');
    await writeFile(join(folder, 'resize.ts'), /```ts\n(.*?)```/s.exec(readme)![1]!);
  });

  const tool = (name: string): string => join(folder, 'node_modules/.bin', name);

  /** `npx millrace --dev`, on ports that are free. */
  const startServer = async (data: string): Promise<{ url: string; server: Program }> => {
    const flags = ['--dev', '--host=127.0.0.1', '--api-port=0', '--metrics-port=0', '--log-format=json'];
    const server = runProgram(tool('millrace'), {}, folder, [...flags, `--data-dir=${data}`]);
    const [, url] = await server.said(/"api":"(http[^"]+)"/);
    return { url: url!, server };
  };

  it.each(['commonjs', 'module'])('as %s', async (format) => {
    if (format === 'module') await npm(['pkg', 'set', 'type=module'], folder);
    expect(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))).toMatchObject({ type: format });
    const { url, server } = await startServer(`${format}-data`);
    const env = { MILLRACE_URL: url };

    // The README: it ends by itself, and again.
    for (let run = 1; run <= 2; run++) {
      expect((await runToEnd(tool('tsx'), ['resize.ts'], folder, env)).stdout).toContain('{ bytes: 7000 }');
    }

    // The application compiles, and passes its own tests without a server.
    await node([tool('tsc')], folder);
    expect((await node(['--test', '--test-reporter=tap', 'dist/test-thumbnails.js'], folder)).stdout).toMatch(
      /^# pass 3$/m,
    );

    const worker = runProgram('dist/worker.js', env, folder);
    const web = runProgram('dist/app.js', env, folder, ['serve']);
    const [app] = await web.said(/http:\S+/);
    const call = async (path: string, body?: unknown): Promise<any> => {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      return (await fetch(`${app}${path}`, body === undefined ? undefined : init)).json();
    };

    // A workflow with a fan-out, whose input can be seen; one step fails once, and the worker says so.
    const { id } = await call('/images', { image: 'cat' });
    const page = 'cat: cat-100.png cat-400.png cat-1600.png';
    expect(await call(`/images/${id}`)).toEqual({ page, files: 3, input: { image: 'cat' } });
    await worker.complained(/"level":"warn".*resize failed: attempt 1 of 4 .*next try in about 1 s: .*code.*7/);
    expect(worker.complaints()).not.toContain('[object Object]');

    // The same key with another body is the same workflow, and a warning.
    expect(await call('/images', { image: 'cat', owner: 'ada' })).toEqual({ id });
    await web.complained(/the key image-cat was used before with another body/);

    // A permanent failure says what it was.
    expect(await call('/resize/broken', {})).toEqual({ known: true, name: 'NonRetryableError', stack: 'string' });
    await worker.complained(/"level":"error".*resize failed: .*for good: not an image/);
    const { id: broken } = await call('/images', { image: 'broken' });
    expect((await call(`/images/${broken}`)).failed).toMatch(/failed at resize-/);

    // Many at a time; one that fails fails alone.
    expect(await call('/views', [1, -1, 2])).toEqual([{ together: true }, 'failed', { together: true }]);
    expect(await call('/sweep', {})).toEqual({ removed: 0 });
    expect(await call('/mistakes')).toEqual({ message: expect.any(String), route: 'GET /jobs/nothing-like-an-id' });

    // A task that no worker knows waits, and burns no attempt.
    const millrace = new Millrace({ url, logger: silentLogger });
    const { id: unknown } = await call('/watermark', {});
    await worker.complained(/"level":"warn".*watermark/);
    await until(async () => (await millrace.jobs.why(unknown)).reason === 'no_handler');
    expect(await millrace.jobs.get(unknown)).toMatchObject({ status: 'pending', retryCount: 0 });

    // The command line: what a handler wrote, and where a task belongs that the server does not know.
    const [resized] = await millrace.jobs.list({ task: 'resize', status: 'completed', workflowId: id }).toArray();
    const cli = (...args: string[]) => runToEnd(tool('millrace'), args, folder, env);
    expect((await cli('jobs', 'logs', resized!.id)).stdout).toContain('resized');
    const misplaced = await cli('run', 'resize', '{"image":"dog","width":1}');
    expect(misplaced.stderr).toContain('no server process has registered the task resize');
    expect(misplaced.stderr).toContain('--queue=images');

    for (const { child, ended } of [web, worker, server]) {
      child.kill('SIGTERM');
      expect(await ended).toBe(0);
    }
    await worker.said(/done: \{"completed":\d+,"failed":\d+,"released":\d+\}/);
  });
});
