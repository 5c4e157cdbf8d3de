import { pino, stdTimeFunctions, type DestinationStream, type Logger, type LoggerOptions } from 'pino';
import { pretty } from './pretty.js';
import { createScrubber, SECRET_KEYS } from './redaction.js';

export type { Logger } from 'pino';

export interface LogOptions {
  readonly level: string;
  readonly format: 'json' | 'pretty';
  /** Values that must never appear in a line, wherever they come from; see redaction.ts. */
  readonly secrets?: readonly string[] | (() => readonly string[]);
  /** Standard output when absent. */
  readonly destination?: DestinationStream;
}

const CENSOR = '[redacted]';

/**
 * Two nets against leaks. Fields whose name says secret are censored where they usually stand; then the values of the
 * finished line are scrubbed of the secrets this process knows and of anything that looks like a password in a URL, a
 * bearer token or a JWT, because errors and libraries put those into sentences.
 */
export function createLogger({ level, format, secrets = [], destination }: LogOptions): Logger {
  const options: LoggerOptions = {
    level,
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: describeError },
    redact: { paths: redactPaths(), censor: CENSOR },
    hooks: { streamWrite: createScrubber(typeof secrets === 'function' ? secrets : () => secrets, CENSOR) },
  };
  // Synchronous: the last lines before an exit are the ones that matter, and nothing logs on the hot path.
  const output = destination ?? pino.destination({ fd: 1, sync: true });
  return pino(options, format === 'pretty' ? pretty(output) : output);
}

/**
 * What an error says, and nothing that libraries hang onto it: a driver's error may carry the whole connection, with
 * everything that was used to open it.
 */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  const { code, detail } = error as { code?: unknown; detail?: unknown };
  return {
    type: name,
    message,
    ...(code !== undefined && { code }),
    ...(detail !== undefined && { detail }),
    stack,
    ...(cause !== undefined && { cause: describeError(cause) }),
  };
}

function redactPaths(): string[] {
  return SECRET_KEYS.flatMap((key) => [`["${key}"]`, `*["${key}"]`, `*.*["${key}"]`]);
}
