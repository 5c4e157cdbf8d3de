import type { Logger } from '../shared/logger.js';

/** More different warnings than this are not told apart from those seen before. */
const MOST = 1_000;

/** Logs each warning of the server once: a loop of creates would say the same thing a thousand times. */
export class WarningLog {
  readonly #logger: Logger;
  readonly #seen = new Set<string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  write(warnings: unknown): void {
    if (!Array.isArray(warnings)) return;
    for (const warning of warnings) {
      if (typeof warning !== 'string' || this.#seen.has(warning) || this.#seen.size >= MOST) continue;
      this.#seen.add(warning);
      this.#logger.warn(`the server says: ${warning}`);
    }
  }
}
