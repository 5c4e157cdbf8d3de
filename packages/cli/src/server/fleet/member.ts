import { LiveCredentials, parseConfig, startMember, type RunningMember } from '@millrace/server';
import { explain, exitCodeOf } from '../failure.js';
import { exitOnBug, printsFinished, reloadCredentials, serverLogger } from '../logging.js';
import type { Answer, Order, Question, Report } from './messages.js';

/**
 * One of the processes of --processes: the program that parent.ts starts. It heeds its parent alone. Signals of the
 * terminal and of a service manager reach every process of a group, so the parent takes them, and says once what they
 * mean. A parent that is gone without a word, killed for instance, ends it at once: node:cluster sees to that.
 */
const report = (message: Report): void => void process.send?.(message, () => undefined);

async function main(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  let member: RunningMember | null = null;
  const config = parseConfig(process.argv.slice(2), process.env, { isTTY: process.stdout.isTTY });
  const credentials = new LiveCredentials(config);
  const logger = serverLogger(config, credentials);
  process.on('message', (order: Order) => {
    if ('id' in order) void answer(member, order);
    else if (order.kind === 'stop') void stop(member);
    else reloadCredentials(credentials, logger);
  });
  exitOnBug(logger);
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  member = await startMember(config, { logger, credentials, ...(printsFinished(config) && { printFinished: print }) });
  report({ kind: 'serving', apiUrl: member.apiUrl });
}

async function stop(member: RunningMember | null): Promise<void> {
  try {
    await member?.stop();
    process.exit(0);
  } catch (error) {
    fail(error);
  }
}

async function answer(member: RunningMember | null, question: Question & { readonly id: number }): Promise<void> {
  const text = (error: unknown): Answer => ({ error: String(error) });
  const found = member === null ? { error: 'not serving yet' } : await answerOf(member, question).catch(text);
  report({ kind: 'answer', id: question.id, answer: found });
}

async function answerOf(member: RunningMember, question: Question): Promise<Answer> {
  switch (question.kind) {
    case 'snapshot':
      return { snapshot: await member.snapshot({ withDatabase: question.withDatabase }) };
    case 'ready':
      return { ready: await member.ready() };
  }
}

/** The parent prints the line: of several processes that fail for the same reason, one is enough. */
function fail(error: unknown): void {
  const exitCode = exitCodeOf(error);
  const message: Report = { kind: 'failed', message: explain(error), exitCode };
  process.send?.(message, () => process.exit(exitCode));
}

main().catch(fail);
