import {
  LiveCredentials,
  parseConfig,
  startMember,
  type CredentialSet,
  type Logger,
  type RunningMember,
} from '@millrace/server';
import { explain, exitCodeOf } from '../failure.js';
import { exitOnBug, printsFinished, reloadCells, serverLogger } from '../logging.js';
import type { Answer, Order, Question, Report } from './messages.js';

/**
 * One of the processes of --processes: the program that parent.ts starts. It heeds its parent alone. Signals of the
 * terminal and of a service manager reach every process of a group, so the parent takes them, and says once what they
 * mean. A parent that is gone without a word, killed for instance, ends it at once: node:cluster sees to that.
 *
 * It starts with the credentials that the parent hands it, and never reads their files: those may be wrong by now,
 * while the parent still holds what was valid when it last read them.
 */
const report = (message: Report): void => void process.send?.(message, () => undefined);

interface State {
  member: RunningMember | null;
  live: { readonly credentials: LiveCredentials; readonly logger: Logger } | null;
}

async function main(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  const config = parseConfig(process.argv.slice(2), process.env, { isTTY: process.stdout.isTTY });
  const state: State = { member: null, live: null };
  const handed = await new Promise<CredentialSet>((resolve) => {
    process.on('message', (order: Order) => heed(order, state, resolve));
    report({ kind: 'started' });
  });
  const credentials = new LiveCredentials(config, handed);
  const logger = serverLogger(config, credentials);
  state.live = { credentials, logger };
  exitOnBug(logger);
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const shown = printsFinished(config) && { printFinished: print };
  state.member = await startMember(config, { logger, credentials, ...shown });
  report({ kind: 'serving', apiUrl: state.member.apiUrl });
}

function heed(order: Order, { member, live }: State, onFirst: (set: CredentialSet) => void): void {
  if ('id' in order) return void answer(member, order);
  if (order.kind === 'stop') return void stop(member);
  if (order.kind === 'cells') return void (member && live && reloadCells(member, live.logger));
  if (live === null) return onFirst(order.set);
  live.credentials.replace(order.set);
  live.logger.info('the parent has read the credentials again');
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
      return { ready: await member.ready(), cells: await member.cells() };
  }
}

/** The parent prints the line: of several processes that fail for the same reason, one is enough. */
function fail(error: unknown): void {
  const exitCode = exitCodeOf(error);
  const message: Report = { kind: 'failed', message: explain(error), exitCode };
  process.send?.(message, () => process.exit(exitCode));
}

main().catch(fail);
