import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startProgram, type Program } from '../src/programs.js';

function program(code: string, env: Readonly<Record<string, string>> = {}): Program {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-program-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const script = join(folder, 'program.mjs');
  writeFileSync(script, code);
  return startProgram({ script, env, stdio: ['ignore', 'pipe', 'inherit'] });
}

it('a program sees what it is given, and nothing else of the environment', async () => {
  process.env.MILLRACE_SLIPS_IN = '1';
  onTestFinished(() => void delete process.env.MILLRACE_SLIPS_IN);
  const { child, exited } = program('console.log(Object.keys(process.env).sort().join())', { GIVEN: '1' });
  let output = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text));
  expect(await exited).toEqual({ code: 0, signal: null });
  expect(output.trim().split(',')).toEqual(expect.arrayContaining(['GIVEN', 'PATH']));
  expect(output).not.toContain('MILLRACE_SLIPS_IN');
});

it('a program is ended by the signal that is named, once', async () => {
  const { isAlive, end } = program('setInterval(() => undefined, 1000)');
  expect(isAlive()).toBe(true);
  expect(await end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
  expect(isAlive()).toBe(false);
  expect(await end()).toEqual({ code: null, signal: 'SIGKILL' });
});
