import { MethodNotAllowedError, NotFoundError } from '../errors/call-errors.js';
import type { Transport } from '../http/transport.js';
import type { Feature, WhoAmI } from '../wire/index.js';

/**
 * What the server can do beyond the plain protocol: asked once, when it first matters. A server that does not know the
 * question knows none of it.
 */
export class ServerFeatures {
  readonly #transport: Transport;
  #known: Promise<ReadonlySet<string>> | undefined;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async has(feature: Feature): Promise<boolean> {
    return (await this.#ask()).has(feature);
  }

  /** Whether the server has any of them: all of these came with fields that have no name of their own here. */
  async any(): Promise<boolean> {
    return (await this.#ask()).size > 0;
  }

  #ask(): Promise<ReadonlySet<string>> {
    this.#known ??= this.#fetch().catch((error: unknown) => {
      this.#known = undefined;
      throw error;
    });
    return this.#known;
  }

  async #fetch(): Promise<ReadonlySet<string>> {
    try {
      const { body } = await this.#transport.call<WhoAmI>({ method: 'GET', path: '/whoami' });
      return new Set(body.features);
    } catch (error) {
      if (error instanceof NotFoundError || error instanceof MethodNotAllowedError) return new Set();
      throw error;
    }
  }
}
