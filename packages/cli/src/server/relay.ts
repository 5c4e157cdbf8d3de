import { readFileSync } from 'node:fs';
import { createLogger, startRelay } from '@millrace/server';
import { Misuse } from '../invocation/exit.js';
import type { Invocation } from '../invocation/invocation.js';
import { checkChoice, parse } from '../invocation/parse.js';
import * as specs from '../specs/outbox.js';
import { exitOnBug } from './logging.js';
import { outboxUrl } from './outbox.js';
import { Signals } from './signals.js';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/** Runs a relay until it is told to stop, or cannot go on. */
export async function relay({ argv, env, io, underNpm = false }: Invocation): Promise<number> {
  const { options } = parse(specs.relay, argv);
  const from = outboxUrl('--from', options.from, env);
  const service = { url: serviceUrl(options.url ?? env.MILLRACE_URL ?? ''), token: tokenOf(options, env) };
  const logger = createLogger({
    level: levelOf(options['log-level'] ?? env.MILLRACE_LOG_LEVEL),
    format: formatOf(options['log-format'] ?? env.MILLRACE_LOG_FORMAT, io.terminal.stdout),
    secrets: [service.token],
  });
  exitOnBug(logger);
  const signals = new Signals(logger, { underNpm, exitsUntilServing: true });
  const running = await startRelay({
    from,
    service,
    logger,
    host: options.host ?? env.MILLRACE_HOST ?? '0.0.0.0',
    metricsPort: portOf(options['metrics-port'] ?? env.MILLRACE_METRICS_PORT ?? '9092'),
  });
  signals.serving();
  logger.info({ service: service.url, metrics: running.metricsUrl }, 'relaying');
  const failure = await Promise.race([running.ended(), signals.stop.then(() => null)]);
  await running.stop();
  if (failure !== null) return 1;
  logger.info('stopped');
  return 0;
}

function serviceUrl(text: string): string {
  if (text === '') throw new Misuse('--url or MILLRACE_URL must say where the service is');
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new Misuse('--url must be an http:// or https:// URL');
  return text;
}

interface TokenOptions {
  readonly token?: string | undefined;
  readonly 'token-file'?: string | undefined;
}

function tokenOf(options: TokenOptions, env: NodeJS.ProcessEnv): string {
  const file = options['token-file'] ?? (options.token === undefined ? env.MILLRACE_TOKEN_FILE : undefined);
  const token = file === undefined || file === '' ? (options.token ?? env.MILLRACE_TOKEN ?? '') : tokenIn(file);
  if (token === '') throw new Misuse('--token, --token-file or MILLRACE_TOKEN must hold the token of a tenant');
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Misuse('the token has characters that no header can carry');
  return token;
}

function tokenIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new Misuse('--token-file cannot be read');
  }
}

function levelOf(text: string | undefined): string {
  if (text === undefined || text === '') return 'info';
  checkChoice('--log-level', text, LEVELS);
  return text;
}

function formatOf(text: string | undefined, isTerminal: boolean): 'json' | 'pretty' {
  if (text === undefined || text === '') return isTerminal ? 'pretty' : 'json';
  checkChoice('--log-format', text, ['json', 'pretty']);
  return text as 'json' | 'pretty';
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new Misuse('--metrics-port must be a number from 0 to 65535');
  return port;
}
