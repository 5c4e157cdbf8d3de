import type { Transport } from '../../http/transport.js';
import type { Feature, WhoAmI } from '../../wire/index.js';
import { isUnknownRoute } from './calls.js';

/**
 * What the server can do beyond the plain protocol. Assumed to be everything until it says otherwise, by `whoami` or by
 * not knowing a route; from then on the worker falls back.
 */
export class AssumedFeatures {
  readonly #missing = new Set<Feature>();
  #asked: Promise<void> = Promise.resolve();

  has(feature: Feature): boolean {
    return !this.#missing.has(feature);
  }

  lacks(...features: readonly Feature[]): void {
    for (const feature of features) this.#missing.add(feature);
    // Jobs are given back through reports; the two came together.
    if (this.#missing.has('reports')) this.#missing.add('release');
  }

  /** Asks the server. Without an answer, the routes themselves will tell. */
  ask(transport: Transport): void {
    this.#asked = this.#ask(transport);
  }

  /** For what cannot fall back: resolves once the server was asked, whether or not it has answered. */
  async isKnown(feature: Feature): Promise<boolean> {
    await this.#asked;
    return this.has(feature);
  }

  async #ask(transport: Transport): Promise<void> {
    try {
      const { body } = await transport.call<WhoAmI>({ method: 'GET', path: '/whoami' });
      this.lacks(...OPTIONAL.filter((feature) => !body.features.includes(feature)));
    } catch (error) {
      if (isUnknownRoute(error)) this.lacks(...OPTIONAL);
    }
  }
}

const OPTIONAL: readonly Feature[] = ['reports', 'heartbeats', 'release', 'progress', 'durable', 'logs'];
