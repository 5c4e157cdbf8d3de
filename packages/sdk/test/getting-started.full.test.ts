import { spawn } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Millrace, task } from '../src/index.js';
import { devServer, type DevServer } from '../src/testing/index.js';
import { newFolder } from './support/programs.js';

/** Programs that run after a plain `npm init -y`, and what they are called here. */
const READMES = { 'README.md': 'readme', 'packages/sdk/README.md': 'package' };

/**
 * The page as its reader meets it: every block that names a file, compiled and run against a real server; and so are
 * the programs in the READMEs, which are CommonJS there.
 */
describe('getting started', () => {
  let directory: string;
  let dev: DevServer;
  let page: string;

  beforeAll(async () => {
    page = await readFile(new URL('../../../docs/getting-started.md', import.meta.url), 'utf8');
    directory = await newFolder();
    await writeFile(join(directory, 'package.json'), '{"type":"module"}');
    for (const [, name = '', code = ''] of page.matchAll(/```ts\n\/\/ (\S+)\n(.*?)```/gs)) {
      await writeFile(join(directory, name), code);
    }
    // As `npm init -y` leaves a folder.
    await mkdir(join(directory, 'plain'));
    await writeFile(join(directory, 'plain/package.json'), '{"type":"commonjs"}');
    for (const [file, name] of Object.entries(READMES)) {
      const readme = await readFile(new URL(`../../../${file}`, import.meta.url), 'utf8');
      await writeFile(join(directory, 'plain', `${name}.ts`), /```ts\n(.*?)```/s.exec(readme)![1]!);
    }
    dev = await devServer();
  });
  afterAll(async () => {
    await dev.stop();
    await rm(directory, { recursive: true, force: true });
    await expect(fetch(`${dev.url}/health`)).rejects.toThrow();
  });

  const run = (file: string) => {
    const env = { ...process.env, MILLRACE_URL: dev.url };
    const child = spawn(process.execPath, [join(directory, file)], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const ended = new Promise<{ code: number | null; output: string }>((resolve) => {
      child.once('close', (code) => resolve({ code, output }));
    });
    return { child, ended };
  };

  it('compiles, and does what it says', async () => {
    const names = ['tasks.ts', 'worker.ts', 'app.ts', 'tasks.test.ts', 'plain/readme.ts', 'plain/package.ts'];
    const files = names.map((name) => join(directory, name));
    const options = {
      ...{ target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, strict: true, types: ['node'] },
      ...{ moduleResolution: ts.ModuleResolutionKind.NodeNext, skipLibCheck: true },
    };
    const program = ts.createProgram(files, options);
    const problems = ts
      .getPreEmitDiagnostics(program)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
    expect(problems).toEqual([]);
    program.emit();
    expect(await run('tasks.test.js').ended).toEqual({ code: 0, output: '' });
    const worker = run('worker.js');
    const app = await run('app.js').ended;
    const promised = /```console\n(.*?)```/s.exec(page)?.[1];
    expect(app).toEqual({ code: 0, output: promised });
    worker.child.kill('SIGTERM');
    expect((await worker.ended).code).toBe(0);

    // Each ends by itself, and does the same when it is run again.
    for (const [name, last] of [
      ['readme', '{ bytes: 7000 }'],
      ['readme', '{ bytes: 7000 }'],
      ['package', '700'],
      ['package', '700'],
    ]) {
      const { code, output } = await run(`plain/${name}.js`).ended;
      expect({ code, lines: output.split('\n') }).toEqual({ code: 0, lines: expect.arrayContaining([last]) });
    }
  });

  it('runs on a server that the client finds, with the queue of tasks that name none', async () => {
    const job = await new Millrace(dev).enqueue(task({ name: 'sweep' }));
    expect((await job.get()).queue).toBe('tasks');
  });
});
