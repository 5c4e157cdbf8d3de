import type { JsonObject } from '../json/object.js';

/** Where the SDK and handlers write. Most loggers fit after swapping two arguments. */
export interface Logger {
  debug(message: string, fields?: JsonObject): void;
  info(message: string, fields?: JsonObject): void;
  warn(message: string, fields?: JsonObject): void;
  error(message: string, fields?: JsonObject): void;
}

type Level = 'debug' | 'info' | 'warn' | 'error';

const write =
  (level: Level) =>
  (message: string, fields: JsonObject = {}): void => {
    // What `console` writes to: info to stdout, the rest to stderr.
    const line = isTerminal(level === 'info' ? 'stdout' : 'stderr')
      ? forPeople(message, fields)
      : forCollectors(level, message, fields);
    // Without a logger of the program's own, the console is the only place that exists everywhere.
    // eslint-disable-next-line no-console
    console[level](line);
  };

/** Where there is no process, as in a browser, somebody reads the console. */
function isTerminal(stream: 'stdout' | 'stderr'): boolean {
  const { process } = globalThis as { process?: Partial<NodeJS.Process> };
  return process === undefined || process[stream]?.isTTY === true;
}

/** A stack is read line by line, so it stands below the message. */
function forPeople(message: string, { stack, ...fields }: JsonObject): string {
  const rest = Object.keys(fields).length === 0 ? '' : ` ${JSON.stringify(fields)}`;
  return `millrace: ${message}${rest}${typeof stack === 'string' ? `\n${stack}` : ''}`;
}

const forCollectors = (level: Level, message: string, fields: JsonObject): string =>
  JSON.stringify({ time: new Date().toISOString(), level, name: 'millrace', msg: message, ...fields });

/** Writes to the console: lines for people in a terminal, JSON anywhere else. Debug lines are dropped. */
export const consoleLogger: Logger = {
  debug: () => undefined,
  info: write('info'),
  warn: write('warn'),
  error: write('error'),
};

/** Writes nothing. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
