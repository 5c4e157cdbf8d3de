import type { OutboxDatabase } from '../store/outbox/outbox-database.js';
import { batchText, type Entry } from './entry-text.js';
import type { ServiceClient } from './service-client.js';
import { verdictOf, type Again, type Refusal, type Reply, type Stop } from './verdict.js';

/**
 * What becomes of entries that a relay took: each ends as delivered (deleted), refused (set aside with the answer) or
 * released (put back). None stays in hand. If the process dies in between, they are taken again after a while, and
 * their keys keep the service from making a second job of them.
 */
export interface DeliveryEvents {
  readonly delivered: (entries: number) => void;
  readonly refused: (entry: Entry, refusal: Refusal) => void;
}

/** How long the service remembers keys. */
export interface KeyLives {
  readonly jobSecs: number;
  readonly workflowSecs: number;
}

/** Workflows have no batch; so many calls for them are made at a time. */
const WORKFLOWS_AT_ONCE = 8;

const EXPIRED: Refusal = {
  code: 'key_expired',
  error:
    'it was first tried so long ago that the service no longer remembers its key; check whether its ' +
    'job exists, then send it again with outbox retry, or prune it',
};

export class Delivery {
  constructor(
    private readonly outbox: OutboxDatabase,
    private readonly service: ServiceClient,
    private readonly events: DeliveryEvents,
  ) {}

  /** Null: all of it was dealt with. */
  async deliver(entries: readonly Entry[], lives: KeyLives): Promise<Again | Stop | null> {
    const isExpired = ({ triedSecs: secs, task }: Entry): boolean =>
      secs > (task === null ? lives.workflowSecs : lives.jobSecs);
    const expired = entries.filter(isExpired);
    if (expired.length > 0) await this.#refuse(expired.map((entry) => [entry, EXPIRED]));
    const fresh = expired.length === 0 ? entries : entries.filter((entry) => !isExpired(entry));
    const jobs = fresh.filter(({ task }) => task !== null);
    const workflows = jobs.length === fresh.length ? [] : fresh.filter(({ task }) => task === null);
    const ends = await Promise.all([this.#jobs(jobs), this.#workflows(workflows)]);
    return ends.find((end) => end?.kind === 'stop') ?? ends.find((end) => end !== null) ?? null;
  }

  async #jobs(entries: readonly Entry[]): Promise<Again | Stop | null> {
    let left = entries;
    while (left.length > 0) {
      const verdict = verdictOf(await this.service.createJobs(batchText(left)));
      switch (verdict.kind) {
        case 'delivered':
          await this.#delivered(left);
          return null;
        case 'refused':
          await this.#refuse([...verdict.items].flatMap(([n, why]) => (left[n] ? [[left[n], why] as const] : [])));
          left = left.filter((_, n) => !verdict.items.has(n));
          break;
        case 'split': {
          if (left.length === 1) return this.#refuse([[left[0]!, verdict.refusal]]);
          const middle = left.length >> 1;
          const end = await this.#jobs(left.slice(0, middle));
          left = left.slice(middle);
          if (end === null) break;
          await this.#release(left, end);
          return end;
        }
        default:
          await this.#release(left, verdict);
          return verdict;
      }
    }
    return null;
  }

  async #workflows(entries: readonly Entry[]): Promise<Again | Stop | null> {
    for (let at = 0; at < entries.length; at += WORKFLOWS_AT_ONCE) {
      const some = entries.slice(at, at + WORKFLOWS_AT_ONCE);
      const replies = await Promise.all(some.map(({ payload, key }) => this.service.createWorkflow(payload, key)));
      const ends = await Promise.all(some.map((entry, n) => this.#workflow(entry, replies[n]!)));
      const end = ends.find((each) => each !== null) ?? null;
      if (end === null) continue;
      await this.#release(entries.slice(at + WORKFLOWS_AT_ONCE), end);
      return end;
    }
    return null;
  }

  async #workflow(entry: Entry, reply: Reply): Promise<Again | Stop | null> {
    const verdict = verdictOf(reply);
    switch (verdict.kind) {
      case 'delivered':
        await this.#delivered([entry]);
        return null;
      case 'refused':
        return this.#refuse([[entry, [...verdict.items.values()][0]!]]);
      case 'split':
        return this.#refuse([[entry, verdict.refusal]]);
      default:
        await this.#release([entry], verdict);
        return verdict;
    }
  }

  async #delivered(entries: readonly Entry[]): Promise<void> {
    await this.outbox.run('delivered', { seqs: seqsOf(entries) });
    this.events.delivered(entries.length);
  }

  async #refuse(refusals: readonly (readonly [Entry, Refusal])[]): Promise<null> {
    await this.outbox.run('refuse', {
      seqs: refusals.map(([{ seq }]) => seq),
      codes: refusals.map(([, { code }]) => code),
      errors: refusals.map(([, { error }]) => error),
    });
    for (const [entry, refusal] of refusals) this.events.refused(entry, refusal);
    return null;
  }

  async #release(entries: readonly Entry[], end: Again | Stop): Promise<void> {
    if (entries.length === 0) return;
    const unsent = end.kind === 'stop' || end.unsent;
    await this.outbox.run('release', { seqs: seqsOf(entries), unsent });
  }
}

/** As the text of an array: numbers need no escaping. */
const seqsOf = (entries: readonly Entry[]): string => `{${entries.map(({ seq }) => seq).join(',')}}`;
