import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../../server/test/support/until.js';
import { Millrace, silentLogger, task } from '../../src/index.js';
import { devServer, type DevServer } from '../../src/testing/index.js';
import { runProgram } from '../support/programs.js';
import { emptyFolder, node, npm, pack } from '../support/tarballs.js';

const PROGRAMS = fileURLToPath(new URL('programs/', import.meta.url));
/** The oldest that the SDK supports, and the last of each line. */
const COMPILERS = ['5.0.4', '5.9.3', '6.0.3', '7.0.2'];
const OUTPUT = '42 true 1 1 function function function 1\n';

/** How programs are compiled: what their package says, and the options; those for bundlers are not run. */
const SETTINGS = [
  { format: 'commonjs', options: ['--module', 'commonjs'], runs: true },
  { format: 'commonjs', options: ['--module', 'node16'], runs: true },
  { format: 'module', options: ['--module', 'node16'], runs: true },
  { format: 'commonjs', options: ['--module', 'nodenext'], runs: true },
  { format: 'module', options: ['--module', 'nodenext'], runs: true },
  { format: 'module', options: ['--module', 'esnext', '--moduleResolution', 'bundler'], runs: true },
  { format: 'commonjs', options: ['--module', 'preserve'], runs: false },
];

describe('the package as it is installed', () => {
  let folder: string;
  let dev: DevServer;

  beforeAll(async () => {
    folder = await emptyFolder();
    await writeFile(join(folder, 'package.json'), '{"private":true}');
    const compilers = COMPILERS.map((version) => `ts-${version}@npm:typescript@${version}`);
    await npm(['install', ...(await pack(['sdk'])), '@types/node@20', ...compilers], folder);
    await cp(PROGRAMS, folder, { recursive: true });
    for (const format of ['commonjs', 'module']) {
      await mkdir(join(folder, format));
      await writeFile(join(folder, format, 'package.json'), JSON.stringify({ type: format }));
      await cp(join(PROGRAMS, 'app.ts'), join(folder, format, 'app.ts'));
    }
    dev = await devServer();
  });
  afterAll(() => dev.stop());

  const compile = async (version: string, setting: (typeof SETTINGS)[number]): Promise<string> => {
    const { format, options } = setting;
    const tsc = join('node_modules', `ts-${version}`, 'bin', 'tsc');
    const strictly = ['--strict', '--target', 'es2022', '--lib', 'es2023', '--types', 'node'];
    // The declarations of the package are the same in all of them, and checked once per compiler.
    const once = setting === SETTINGS[0] ? [] : ['--skipLibCheck'];
    await node([tsc, ...strictly, ...once, ...options, join(format, 'app.ts')], folder);
    return join(format, 'app.js');
  };

  it.each(COMPILERS)('compiles with TypeScript %s in every format, and runs', async (version) => {
    for (const setting of SETTINGS) {
      if (version === '5.0.4' && setting.options.includes('preserve')) continue;
      const compiled = await compile(version, setting);
      if (setting.runs) expect((await node([compiled], folder)).stdout, setting.options.join(' ')).toBe(OUTPUT);
      await rm(join(folder, compiled));
    }
  });

  it('compiles as NestJS starts: not strict, with decorators, an older target', async () => {
    const tsc = join('node_modules', 'ts-5.9.3', 'bin', 'tsc');
    const decorators = ['--experimentalDecorators', '--emitDecoratorMetadata'];
    const loosely = ['--module', 'commonjs', '--target', 'es2021', '--skipLibCheck', '--strictNullChecks', 'false'];
    await node([tsc, ...loosely, ...decorators, '--types', 'node', 'commonjs/app.ts'], folder);
    expect((await node(['commonjs/app.js'], folder)).stdout).toBe(OUTPUT);
  });

  it('knows its errors, results and workflows in a process with both formats', async () => {
    expect(await node(['mixed.mjs'], folder)).toEqual({ stdout: 'ok\n', stderr: '' });
  });

  it.each(['blocking.cjs', 'blocking.mjs'])('sends heartbeats from a thread of its own in %s', async (program) => {
    const millrace = new Millrace({ ...dev, logger: silentLogger });
    const worker = runProgram(join(folder, program), { MILLRACE_URL: dev.url }, folder);
    const job = await millrace.enqueue(task({ name: 'block' }));
    // What the handler says goes with a heartbeat, and by then it blocks.
    await until(async () => (await job.get()).progress?.blocks === true || 'no heartbeat');
    await writeFile(join(folder, 'go-on'), '');
    expect(await job.result()).toEqual({ blocked: true });
    await rm(join(folder, 'go-on'));
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toBe(0);
  });
});
