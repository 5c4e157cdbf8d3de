import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
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

const FORMAT = { languageVersion: ts.ScriptTarget.ES2022, impliedNodeFormat: ts.ModuleKind.ESNext } as const;

/** Codes that say that something was not found at all: then a case would fail for the wrong reason. */
const NOT_FOUND = [2304, 2307, 2305, 7016];

/** About a tenth above what 200 tasks and 60 steps took when it was set: 327,000. */
const MOST_WORK = 360_000;

describe('the types', () => {
  it('refuse every case that must not compile, and nothing else', async () => {
    const path = join(folder, 'negative.ts');
    const lines = (await readFile(path, 'utf8')).split('\n');
    const cases = lines.flatMap((line, index) => (line.includes('@ts-expect-error') ? [index] : []));
    expect(cases.length).toBeGreaterThanOrEqual(33);
    // Without the directives, so that each error and its reason can be seen.
    const bare = lines.map((line) => line.replace('@ts-expect-error', 'must not compile:')).join('\n');
    const { faults: diagnostics } = compiled(path, bare);
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

  it('say in one line what is wrong', () => {
    const reasons = {
      "flow.step('b', ship, { after: ['x'] })": 'x is not a step above',
      "flow.step('a', ship, {})": 'there is a step a already',
      "task({ name: 'a', input: list })": 'the input is not an object: wrap it, as in { value: … }',
      "task({ name: 'a', output: list })": 'the output is not an object: wrap it, as in { value: … }',
      "task({ name: 'a', output: type<{ at: Date }>() })":
        'the output has a field that is not JSON (at): send a string or a number',
      "task({ name: 'a', input: type<{ rows: { n: bigint }[] }>() })":
        'the input has a field that is not JSON (rows[].n): send a string or a number',
    };
    const { faults } = compiled(
      join(folder, 'reasons.ts'),
      [
        "import { task, type, workflow, type StandardSchema } from '@millrace/sdk';",
        'declare const list: StandardSchema<string[]>;',
        "const ship = task({ name: 'ship' });",
        "const flow = workflow({ name: 'flow' }).step('a', ship, {});",
        ...Object.keys(reasons).map((code, index) => `export const wrong${index} = ${code};`),
      ].join('\n'),
    );
    const said = faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
    const reason = (text: string): string => `^[^\\n]* to (type|parameter of type) '"${escaped(text)}"'\\.$`;
    expect(said).toEqual(Object.values(reasons).map((text) => expect.stringMatching(reason(text)) as unknown));
  });

  it('take recursive types, however many ways lead through them', () => {
    const fields = Array.from({ length: 8 }, (_, n) => `f${n}: Tree[] | { deeper: Tree }`).join('; ');
    const { faults, program } = compiled(
      join(folder, 'recursive.ts'),
      `import { task, type } from '@millrace/sdk';
       export interface Tree { ${fields}; json: Json }
       type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
       export const trees = task({ name: 'trees', input: type<Tree>(), output: type<{ tree: Tree; json: Json }>() });`,
    );
    expect(faults.map(({ messageText }) => messageText)).toEqual([]);
    expect(program.getInstantiationCount()).toBeLessThan(20_000);
  });

  it('stay shallow: 200 tasks and 60 steps are little work', () => {
    const { faults, program } = compiled(join(folder, 'large.ts'), largeProgram(200, 60));
    expect(faults.map(({ messageText }) => messageText)).toEqual([]);
    // How often the compiler put types into type parameters: the same on every machine, unlike time.
    expect(program.getInstantiationCount()).toBeLessThan(MOST_WORK);
  });
});

const escaped = (text: string): string => text.replace(/[()[\]{}.]/g, String.raw`\$&`);

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

interface Compiled {
  readonly program: ts.Program;
  readonly faults: readonly ts.Diagnostic[];
}

const parsed = new Map<string, ts.SourceFile | undefined>();

/** Compiles a text as that file, and all that it imports. The declarations of the language are taken as correct. */
function compiled(path: string, text: string): Compiled {
  const host = ts.createCompilerHost(OPTIONS);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (name, ...rest) => {
    if (name === path) return ts.createSourceFile(name, text, FORMAT);
    if (!parsed.has(name)) parsed.set(name, read(name, ...rest));
    return parsed.get(name);
  };
  const program = ts.createProgram([path], OPTIONS, host);
  const own = program.getSourceFiles().filter((file) => !program.isSourceFileDefaultLibrary(file));
  const faults = [
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...own.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]),
  ];
  return { program, faults };
}
