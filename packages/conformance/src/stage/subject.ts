import type { Item } from '../proxy/calls.js';
import type { Proxy } from '../proxy/proxy.js';
import type { Beacon, BeaconEvent, BeaconAddress } from './beacons.js';
import type { JobRecord, Service } from './service.js';
import { ASK_EVERY_MS, check, PATIENCE_MS, until } from './violation.js';

/** A job that the worker under test is to run. */
export class Subject {
  readonly id: string;
  readonly #address: BeaconAddress;
  readonly #service: Service;
  readonly #proxy: Proxy;

  constructor(id: string, address: BeaconAddress, service: Service, proxy: Proxy) {
    this.id = id;
    this.#address = address;
    this.#service = service;
    this.#proxy = proxy;
  }

  /** The beacons of one kind, in the order in which they came. */
  beacons(event: BeaconEvent): readonly Beacon[] {
    return this.#address.seen.filter((beacon) => beacon.event === event);
  }

  /** The first beacon of a kind; waits for it. */
  seen(event: BeaconEvent, withinMs = PATIENCE_MS): Promise<Beacon> {
    return until(`the task posts \`${event}\``, () => this.beacons(event)[0], withinMs);
  }

  /** Complete, fail and release of this job as they passed the proxy. */
  reports(): readonly Item[] {
    return this.#proxy.itemsOf(this.id, 'complete', 'fail', 'release');
  }

  /** That the job is to wait, as it passed the proxy. */
  suspensions(): readonly Item[] {
    return this.#proxy.itemsOf(this.id, 'suspend');
  }

  /** The steps that ran, in order. */
  ran(): readonly string[] {
    return this.beacons('ran').map(({ step }) => step ?? '');
  }

  heartbeats(): readonly Item[] {
    return this.#proxy.itemsOf(this.id, 'heartbeat');
  }

  /** The leases of this job that the worker was given, in order. */
  deliveries(): readonly { readonly token: string; readonly at: number }[] {
    return this.#proxy.leased().filter((job) => job.id === this.id);
  }

  /** The first report that `matches`; waits for it. */
  report(what: string, matches: (item: Item) => boolean, withinMs = PATIENCE_MS): Promise<Item> {
    return until(what, () => this.reports().find(matches), withinMs);
  }

  record(): Promise<JobRecord> {
    return this.#service.job(this.id);
  }

  cancel(): Promise<void> {
    return this.#service.cancel(this.id);
  }

  /** Waits until the job is in a state. A final state other than the wanted one is a violation at once. */
  async reaches(status: JobRecord['status'], withinMs = PATIENCE_MS): Promise<JobRecord> {
    return until(
      `the job is ${status}`,
      async () => {
        const job = await this.record();
        if (job.status === status) return job;
        check(
          !['completed', 'failed', 'cancelled'].includes(job.status),
          `the job is ${job.status} (${String(job.error_message).slice(0, 200)}), not ${status}`,
        );
        return null;
      },
      withinMs,
      ASK_EVERY_MS,
    );
  }
}
