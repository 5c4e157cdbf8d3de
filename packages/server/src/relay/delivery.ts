import type { OutboxDatabase } from '../store/outbox/outbox-database.js';
import type { EntryClaim } from './claims.js';
import { jobsBody, OneByOne, type DeliveryEvents, type KeyLives } from './one-by-one.js';
import type { ServiceClient } from './service-client.js';
import { verdictOf, type Again, type Stop } from './verdict.js';

/**
 * What becomes of a claim: mostly all of it is sent in one call, as one text that the application's database has made,
 * and deleted. Only where that does not do are its entries looked at one by one. In the end the claim is gone, and what
 * is left of its entries is free. If the process dies in between, they are taken again after a while, and their keys
 * keep the service from making a second job of them.
 */
interface Batch {
  readonly entries: number;
  readonly workflows: number;
  /** How long ago the first of them was tried before. */
  readonly tried_secs: number;
  /** Null: there are only workflows. */
  readonly jobs: string | null;
}

export class Delivery {
  readonly #oneByOne: OneByOne;

  constructor(
    private readonly outbox: OutboxDatabase,
    private readonly service: ServiceClient,
    private readonly events: DeliveryEvents,
  ) {
    this.#oneByOne = new OneByOne(outbox, service, events);
  }

  /** Null: all of it was dealt with. */
  async deliver(claim: EntryClaim, lives: KeyLives): Promise<Again | Stop | null> {
    const [batch] = await this.outbox.run<Batch>('batch', { claim: claim.id });
    const { entries, workflows, tried_secs: triedSecs, jobs } = batch!;
    if (jobs === null || workflows > 0 || triedSecs > lives.jobSecs) return this.#each(claim, lives);
    const verdict = verdictOf(await this.service.createJobs(jobsBody(jobs)));
    switch (verdict.kind) {
      case 'delivered':
        await this.outbox.run('delivered', { claim: claim.id });
        this.events.delivered(entries);
        return null;
      case 'refused':
      case 'split':
        return this.#each(claim, lives);
      default:
        await this.#release(claim, isUnsent(verdict));
        return verdict;
    }
  }

  async #each(claim: EntryClaim, lives: KeyLives): Promise<Again | Stop | null> {
    const ends = await this.#oneByOne.deliver(claim, lives);
    await this.#release(claim, ends.every(isUnsent));
    return ends.find((end) => end.kind === 'stop') ?? ends[0] ?? null;
  }

  async #release({ id }: EntryClaim, unsent: boolean): Promise<void> {
    await this.outbox.run('release', { claim: id, unsent });
  }
}

/** Whether the service cannot have made jobs of what was to be sent. */
const isUnsent = (end: Again | Stop): boolean => end.kind === 'stop' || end.unsent;
