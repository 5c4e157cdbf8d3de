import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const folder = fileURLToPath(new URL('types/', import.meta.url));
const OPTIONS = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.dom.asynciterable.d.ts'],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noImplicitOverride: true,
  skipLibCheck: false,
  noEmit: true,
  types: [],
} satisfies ts.CompilerOptions;

/** Codes that say that something was not found at all: then a case would fail for the wrong reason. */
const NOT_FOUND = [2304, 2307, 2305, 7016];

describe('the types', () => {
  it('refuse every case that must not compile, and nothing else', { timeout: 120_000 }, async () => {
    const path = join(folder, 'negative.ts');
    const lines = (await readFile(path, 'utf8')).split('\n');
    const cases = lines.flatMap((line, index) => (line.includes('@ts-expect-error') ? [index] : []));
    expect(cases.length).toBeGreaterThanOrEqual(33);
    // Without the directives, so that each error and its reason can be seen.
    const bare = lines.map((line) => line.replace('@ts-expect-error', 'must not compile:')).join('\n');
    const host = ts.createCompilerHost(OPTIONS);
    const original = host.getSourceFile.bind(host);
    host.getSourceFile = (name, ...rest) =>
      name === path ? ts.createSourceFile(name, bare, ts.ScriptTarget.ES2022) : original(name, ...rest);
    const diagnostics = ts.getPreEmitDiagnostics(ts.createProgram([path], OPTIONS, host));
    const found = diagnostics.map(({ file, start = 0, code, messageText }) => ({
      file: file?.fileName,
      case: (file?.getLineAndCharacterOfPosition(start).line ?? 0) - 1,
      code,
      text: ts.flattenDiagnosticMessageText(messageText, '\n'),
    }));
    expect(found.filter(({ file, code }) => file !== path || NOT_FOUND.includes(code))).toEqual([]);
    const refused = new Set(found.map((each) => each.case));
    expect(cases.filter((index) => !refused.has(index)).map((index) => lines[index])).toEqual([]);
    expect(found.filter((each) => !cases.includes(each.case))).toEqual([]);
  });

  it(
    'stay shallow: 200 tasks and 60 steps take three times an empty program at most',
    { timeout: 600_000 },
    async () => {
      const directory = await mkdtemp(join(folder, 'cost-'));
      try {
        await writeFile(join(directory, 'empty.ts'), 'export {};\n');
        await writeFile(join(directory, 'large.ts'), largeProgram(200, 60));
        const [empty, large] = [[] as number[], [] as number[]];
        const ratio = (): number => Math.min(...large) / Math.min(...empty);
        // In turns, so that whatever else the machine does falls on both; the best of each counts, of three at most.
        do {
          empty.push(await compile(directory, 'empty.ts'));
          large.push(await compile(directory, 'large.ts'));
        } while (ratio() >= 3 && large.length < 3);
        expect(ratio()).toBeLessThan(3);
      } finally {
        await rm(directory, { recursive: true });
      }
    },
  );
});

/** A program as a large application would write it. */
function largeProgram(tasks: number, steps: number): string {
  const lines = ["import { Millrace, task, type, workflow } from '@millrace/sdk';", 'const millrace = new Millrace();'];
  for (let n = 0; n < tasks; n++) {
    lines.push(
      `const t${n} = task({ name: 't${n}', input: type<{ a${n}: string; n: number; list?: string[] }>(), ` +
        `output: type<{ b${n}: number; at: { hall: string } }>() });`,
      `export const h${n} = t${n}.handle(async ({ a${n} }) => ({ b${n}: a${n}.length, at: { hall: '' } }));`,
      `export const r${n} = async () => (await (await millrace.enqueue(t${n}, { a${n}: 'x', n: 1 })).result()).b${n};`,
    );
  }
  lines.push("const flow = workflow({ name: 'large', input: type<{ sku: string }>() })");
  for (let n = 0; n < steps; n++) {
    const wiring =
      n === 0
        ? 'payload: ({ input }) => ({ a0: input.sku, n: 1 })'
        : `after: ['s${n - 1}'], payload: ({ steps }) => ({ a${n}: steps.s${n - 1}.at.hall, n: steps.s${n - 1}.b${n - 1} })`;
    lines.push(`  .step('s${n}', t${n}, { ${wiring} })`);
  }
  lines.push(
    `  ;`,
    `export const out = async () => (await (await millrace.start(flow, { sku: 'x' })).result()).s${steps - 1};`,
  );
  return lines.join('\n');
}

const run = promisify(execFile);
const tsc = fileURLToPath(new URL('../../../node_modules/typescript/lib/tsc.js', import.meta.url));

/** Runs the compiler and says what it cost. */
const MEASURED = `
  process.on('exit', () => {
    const { user, system } = process.cpuUsage();
    console.log('cpu ' + (user + system));
  });
  require(process.argv[1]);`;

/**
 * Microseconds of processor time: what else the machine does matters less for them than for the time by the clock.
 * Rejects if the program does not compile.
 */
async function compile(directory: string, file: string): Promise<number> {
  const compilerOptions = {
    ...{ noEmit: true, strict: true, target: 'es2022', lib: ['es2023', 'dom'], module: 'nodenext' },
    ...{ types: [], skipLibCheck: false },
  };
  const project = join(directory, `${file}.json`);
  await writeFile(project, JSON.stringify({ compilerOptions, files: [file] }));
  const compiler = run(process.execPath, ['--eval', MEASURED, '--', tsc, '--project', project]);
  const { stdout } = await compiler.catch((error: { stdout: string }) => {
    throw new Error(error.stdout.slice(0, 2_000));
  });
  return Number(/cpu (\d+)/.exec(stdout)?.[1]);
}
