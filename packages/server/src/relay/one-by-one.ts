import type { OutboxDatabase } from '../store/outbox/outbox-database.js';
import type { EntryClaim } from './claims.js';
import type { ServiceClient } from './service-client.js';
import { verdictOf, type Again, type Refusal, type Reply, type Stop } from './verdict.js';

/**
 * The entries of a claim that could not be sent as it is: there are workflows among them, or keys that the service may
 * have forgotten, or the service refuses some. Each ends as delivered (deleted) or refused (set aside with the answer),
 * or is left over.
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

export interface Entry {
  /** The order of writing; a bigint as text. */
  readonly seq: string;
  readonly key: string;
  /** Null: a workflow. */
  readonly task: string | null;
  /** An item of `POST /jobs/batch`, or the body of `POST /workflows`. */
  readonly text: string;
  /** How long ago it was first taken by a relay that may have sent it; 0: now. */
  readonly tried_secs: number;
}

/** The body of `POST /jobs/batch`. */
export const jobsBody = (items: string): string => `{"jobs":[${items}]}`;

/** Workflows have no batch; so many calls for them are made at a time. */
const WORKFLOWS_AT_ONCE = 8;

const EXPIRED: Refusal = {
  code: 'key_expired',
  error:
    'it was first tried so long ago that the service no longer remembers its key; check whether its ' +
    'job exists, then send it again with outbox retry, or prune it',
};

export class OneByOne {
  constructor(
    private readonly outbox: OutboxDatabase,
    private readonly service: ServiceClient,
    private readonly events: DeliveryEvents,
  ) {}

  /** Returns what ended it before all of it was dealt with. */
  async deliver({ id: claim }: EntryClaim, lives: KeyLives): Promise<(Again | Stop)[]> {
    const entries = await this.outbox.run<Entry>('entries', { claim });
    const isExpired = ({ tried_secs: secs, task }: Entry): boolean =>
      secs > (task === null ? lives.workflowSecs : lives.jobSecs);
    const expired = entries.filter(isExpired);
    if (expired.length > 0) await this.#refuse(expired.map((entry) => [entry, EXPIRED]));
    const fresh = entries.filter((entry) => !isExpired(entry));
    const jobs = fresh.filter(({ task }) => task !== null);
    const workflows = fresh.filter(({ task }) => task === null);
    const ends = await Promise.all([this.#jobs(jobs), this.#workflows(workflows)]);
    return ends.filter((end) => end !== null);
  }

  async #jobs(entries: readonly Entry[]): Promise<Again | Stop | null> {
    let left = entries;
    while (left.length > 0) {
      const body = jobsBody(left.map(({ text }) => text).join(','));
      const verdict = verdictOf(await this.service.createJobs(body));
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
          if (end !== null) return end;
          left = left.slice(middle);
          break;
        }
        default:
          return verdict;
      }
    }
    return null;
  }

  async #workflows(entries: readonly Entry[]): Promise<Again | Stop | null> {
    for (let at = 0; at < entries.length; at += WORKFLOWS_AT_ONCE) {
      const some = entries.slice(at, at + WORKFLOWS_AT_ONCE);
      const replies = await Promise.all(some.map(({ text, key }) => this.service.createWorkflow(text, key)));
      const ends = await Promise.all(some.map((entry, n) => this.#workflow(entry, replies[n]!)));
      const ended = ends.filter((end) => end !== null);
      // One that may have been sent says so for all.
      if (ended.length > 0) return ended.find((end) => end.kind === 'again' && !end.unsent) ?? ended[0]!;
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
        return verdict;
    }
  }

  async #delivered(entries: readonly Entry[]): Promise<void> {
    await this.outbox.run('delivered_some', { seqs: entries.map(({ seq }) => seq) });
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
}
