import type { Fault } from '../fault.js';
import { QUICK } from '../stage/actors.js';
import type { Cluster } from '../stage/cluster.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { createEverySecond, doubleFirings } from '../support/schedules.js';
import { expectFlat, takeVitals, type Vitals } from '../support/vitals.js';

const SAMPLE_MS = 5_000;

/**
 * Everything at once, for as long as you like: load, schedules and workflows under a mixture of the other rows' faults.
 * One server is never killed, and neither it nor the tables may grow.
 */
export const soak: Fault = {
  row: 25,
  name: 'soak with the faults mixed',
  check: 'memory, handles and bloat flat',
  unit: 'seconds',
  full: 4 * 3_600,
  everyday: 6,
  rare: true,
  async run(stage, count) {
    const cluster = await stage.cluster();
    const database = await stage.database({ on: cluster });
    const proxy = await stage.proxy(database);
    const witness = await stage.server({ database, databaseUrl: proxy.url, name: 'witness' });
    const fleet = [await stage.server({ database }), await stage.server({ database, mode: 'api' })];
    await createEverySecond(stage.client(witness));
    const mixture = new Mixture(stage, cluster, fleet, proxy.cut.bind(proxy), proxy.restore.bind(proxy));
    const load = new Load(
      stage,
      [witness, ...fleet].map(({ url }) => url),
    );
    const endsAt = performance.now() + count * 1_000;
    const going = (): boolean => performance.now() < endsAt;
    const [samples] = await Promise.all([sampled(stage, witness, going), struck(mixture, load, going)]);
    await database.query('UPDATE millrace.crons SET enabled = false');
    await load.stopProducing();
    await database.expirePoolLeases();
    await stage.drained(database);
    for (const twice of await doubleFirings(database)) stage.violation(twice);
    stage.note(mixture.summary());
    expectFlat(stage, samples);
  },
};

/** Samples the witness until the end. While the database is down there is nothing to sample. */
async function sampled(stage: Stage, witness: ServerProcess, going: () => boolean): Promise<readonly Vitals[]> {
  const samples: Vitals[] = [];
  const [database] = stage.databases;
  while (database && going()) {
    const vitals = await takeVitals(witness, database).catch(() => null);
    if (vitals !== null) samples.push(vitals);
    await stage.sleep(SAMPLE_MS);
  }
  return samples;
}

async function struck(mixture: Mixture, load: Load, going: () => boolean): Promise<void> {
  while (going()) {
    await mixture.strike();
    await load.keepUp();
  }
}

/** Producers and workers in processes of their own, workers being replaced when they were killed, and workflows. */
class Load {
  readonly #producers;
  #workers;

  constructor(
    private readonly stage: Stage,
    private readonly urls: readonly string[],
  ) {
    this.#producers = [
      stage.producer({ urls, pauseMs: 40 }),
      stage.producer({ urls: [...urls].reverse(), queue: 'default', task: 'echo', pauseMs: 40 }),
    ];
    this.#workers = [this.#worker(), this.#worker()];
  }

  async keepUp(): Promise<void> {
    const { random } = this.stage;
    const steps = ['a', 'b', 'c'].map((name, n, all) => ({
      name,
      task_name: 'echo',
      depends_on: n === 0 ? [] : [all[n - 1]],
      config: QUICK,
    }));
    const client = this.stage.client(() => this.urls[0] ?? '');
    await client.send('other', 'POST', '/api/v1/workflows', { body: { name: 'chain', steps } });
    if (random.chance(0.2)) await random.pick(this.#workers).kill();
    this.#workers = this.#workers.map((worker) => (worker.isAlive ? worker : this.#worker()));
  }

  async stopProducing(): Promise<void> {
    await Promise.all(this.#producers.map((producer) => producer.terminate()));
  }

  #worker(): ReturnType<Stage['worker']> {
    return this.stage.worker({ urls: this.urls, leaseSecs: 3, failRate: 0.05 });
  }
}

/** One fault at a time, chosen by the seed. */
class Mixture {
  readonly #counts = new Map<string, number>();
  readonly #kinds: Readonly<Record<string, () => Promise<void>>>;

  constructor(
    private readonly stage: Stage,
    cluster: Cluster,
    fleet: readonly ServerProcess[],
    cut: () => Promise<void>,
    restore: () => Promise<void>,
  ) {
    const [database] = stage.databases;
    this.#kinds = {
      kill: () => stage.random.pick(fleet).crashAndRestart(),
      stop: async () => {
        const { process } = stage.random.pick(fleet);
        process.pause();
        await stage.sleep(stage.random.between(200, 3_000));
        process.resume();
      },
      terminate: () =>
        this.#outage(async () => void (await database?.terminateBackends("application_name <> 'chaos'", 3))),
      crash: () => this.#outage(() => cluster.crashAndRestart(stage.random.between(0, 500))),
      cut: () =>
        this.#outage(async () => {
          await cut();
          await stage.sleep(stage.random.between(100, 1_000));
          await restore();
        }),
    };
  }

  async strike(): Promise<void> {
    await this.stage.sleep(this.stage.random.between(200, 1_500));
    const kind = this.stage.random.pick(Object.keys(this.#kinds));
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    await this.#kinds[kind]?.();
  }

  summary(): string {
    return [...this.#counts].map(([kind, n]) => `${kind} ${n}`).join(', ');
  }

  /** Includes the time until every running server has reconnected to the database. */
  async #outage(body: () => Promise<void>): Promise<void> {
    await this.stage.outage(async () => {
      await body();
      await this.stage.sleep(3_000);
    });
  }
}
