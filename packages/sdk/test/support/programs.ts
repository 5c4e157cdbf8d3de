import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { onTestFinished } from 'vitest';

/**
 * A folder inside the package, where `@millrace/sdk` is found as an installed package would be, and where neither git
 * nor tests that read all files look: those run at the same time.
 */
export async function newFolder(): Promise<string> {
  const parent = fileURLToPath(new URL('../../.cache/', import.meta.url));
  await mkdir(parent, { recursive: true });
  return mkdtemp(join(parent, 'program-'));
}

/** Such a folder for ES modules, until the test ends. */
export async function programFolder(): Promise<string> {
  const folder = await newFolder();
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  return folder;
}

export interface Block {
  readonly name: string;
  readonly code: string;
}

/** The blocks of a page that name a file: TypeScript in its first line, others in the line before. */
export function blocksOf(page: string): Block[] {
  const typed = [...page.matchAll(/```ts\n\/\/ (\S+)\n(.*?)```/gs)];
  const others = [...page.matchAll(/^`([^`\n]+)`:\n\n```\w+\n(.*?)```/gms)];
  return [...typed, ...others].map(([, name = '', code = '']) => ({ name, code }));
}

export async function writeBlocks(folder: string, blocks: readonly Block[]): Promise<void> {
  for (const { name, code } of blocks) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), code);
  }
}

/** Compiles programs as their reader would, strictly, and returns what the compiler has against them. */
export function compile(files: readonly string[], outDir: string, more: ts.CompilerOptions = {}): string[] {
  const program = ts.createProgram(files, {
    ...{ target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, strict: true, types: ['node'] },
    ...{ moduleResolution: ts.ModuleResolutionKind.NodeNext, skipLibCheck: true, outDir, ...more },
  });
  program.emit();
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, '\n');
    return `${file?.fileName.split('/').pop() ?? ''}: ${text}`;
  });
}

export interface Program {
  readonly child: ChildProcess;
  /** Resolves when its output matches. */
  readonly said: (pattern: RegExp) => Promise<RegExpExecArray>;
  /** The same for what it writes to stderr. */
  readonly complained: (pattern: RegExp) => Promise<RegExpExecArray>;
  /** All that it has written there. */
  readonly complaints: () => string;
  readonly ended: Promise<number | null>;
}

/** Runs a compiled program until the test ends. */
export function runProgram(
  file: string,
  env: Record<string, string>,
  cwd?: string,
  args: readonly string[] = [],
): Program {
  const child = spawn(process.execPath, [file, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd !== undefined && { cwd }),
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stderr.pipe(process.stderr, { end: false });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const output = new Heard(child.stdout, ended, file);
  const errors = new Heard(child.stderr, ended, file);
  return { child, said: output.matches, complained: errors.matches, complaints: () => errors.text, ended };
}

/** What a program writes to one of its outputs. */
class Heard {
  text = '';
  readonly #waiting = new Set<() => void>();

  constructor(
    stream: Readable,
    private readonly ended: Promise<unknown>,
    private readonly file: string,
  ) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      this.text += text;
      for (const look of this.#waiting) look();
    });
  }

  readonly matches = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(this.text);
        if (found === null) return;
        this.#waiting.delete(look);
        resolve(found);
      };
      this.#waiting.add(look);
      look();
      void this.ended.then(() => reject(new Error(`${this.file} ended and never said ${String(pattern)}`)));
    });
}
