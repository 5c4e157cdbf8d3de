import type { JsonObject } from '../json/object.js';

/** Where the SDK and handlers write. Most loggers fit after swapping two arguments. */
export interface Logger {
  debug(message: string, fields?: JsonObject): void;
  info(message: string, fields?: JsonObject): void;
  warn(message: string, fields?: JsonObject): void;
  error(message: string, fields?: JsonObject): void;
}

const write =
  (level: 'debug' | 'info' | 'warn' | 'error') =>
  (message: string, fields?: JsonObject): void => {
    // Without a logger of the program's own, the console is the only place that exists everywhere.
    // eslint-disable-next-line no-console
    console[level](fields === undefined ? `millrace: ${message}` : `millrace: ${message} ${JSON.stringify(fields)}`);
  };

/** Writes lines to the console; debug lines are dropped. */
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
