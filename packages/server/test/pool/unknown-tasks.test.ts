import { pino } from 'pino';
import { expect, it } from 'vitest';
import { UnknownTasks } from '../../src/pool/unknown-tasks.js';

function watch() {
  const lines: string[] = [];
  let now = 0;
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const tasks = new UnknownTasks(logger, () => now);
  const meet = (task: string): void => tasks.meet(task, 'q');
  return { meet, pass: (ms: number) => (now += ms), said: () => lines.splice(0).map((line) => JSON.parse(line).task) };
}

it('an unknown task is named again after a minute', () => {
  const { meet, pass, said } = watch();
  meet('a');
  meet('a');
  pass(59_999);
  meet('a');
  expect(said()).toEqual(['a']);
  pass(1);
  meet('a');
  meet('b');
  expect(said()).toEqual(['a', 'b']);
});

it('no more than a thousand unknown tasks are named per minute', () => {
  const { meet, pass, said } = watch();
  for (let n = 0; n < 5_000; n++) meet(`task ${n}`);
  expect(said()).toHaveLength(1_000);
  pass(60_000);
  for (let n = 0; n < 5_000; n++) meet(`other ${n}`);
  expect(said()).toHaveLength(1_000);
});
