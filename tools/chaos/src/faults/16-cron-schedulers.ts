import type { Fault } from '../fault.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { createEverySecond, doubleFirings, firings } from '../support/schedules.js';

const MODES = ['all', 'all', 'worker', 'worker', 'worker'] as const;
/** This many stay up, or nobody would be left to fire. */
const SURVIVORS = 2;

/** Five schedulers on one every-second schedule; some are always being killed or stopped, often right on the second. */
export const cronSchedulers: Fault = {
  row: 16,
  name: 'an every-second cron, five schedulers, random kills',
  check: 'one job per occurrence',
  unit: 'occurrences',
  full: 3_600,
  everyday: 10,
  async run(stage, count) {
    const database = await stage.database();
    const servers = await Promise.all(
      MODES.map((mode) => stage.server({ database, mode, args: ['--max-db-connections=4', '--workers=2'] })),
    );
    const [first] = servers;
    if (first) await createEverySecond(stage.client(first));
    const trouble = new Trouble(stage, servers);
    while ((await firings(database)).length < count) await trouble.strike();
    await trouble.end();
    await database.query('UPDATE millrace.crons SET enabled = false');
    const fired = await firings(database);
    for (const twice of await doubleFirings(database)) stage.violation(twice);
    const [{ fired: counted } = { fired: -1 }] = await database.query<{ fired: number }>(
      'SELECT fired::int FROM millrace.crons',
    );
    stage.expect(counted === fired.length, `the schedule counts ${counted} firings and has ${fired.length} jobs`);
    await database.expirePoolLeases();
    await stage.drained(database);
    const gaps = (fired.at(-1)?.occurrence ?? 0) - (fired[0]?.occurrence ?? 0) + 1 - fired.length;
    stage.note(
      `${fired.length} firings, ${trouble.kills} kills, ${trouble.stops} stops, ${gaps} occurrences collapsed`,
    );
  },
};

class Trouble {
  kills = 0;
  stops = 0;
  readonly #down = new Set<ServerProcess>();
  readonly #pending = new Set<Promise<void>>();

  constructor(
    private readonly stage: Stage,
    private readonly servers: readonly ServerProcess[],
  ) {}

  /** Strikes at any moment, or within 25 ms after a full second, when the schedule fires. */
  async strike(): Promise<void> {
    const { random } = this.stage;
    await this.stage.sleep(random.between(150, 700));
    if (random.chance(0.6)) await this.stage.sleep(1_000 - (Date.now() % 1_000) + random.between(0, 25));
    const victim = random.pick(this.servers);
    if (this.#down.has(victim) || this.servers.length - this.#down.size <= SURVIVORS) return;
    const work = random.chance(0.3) ? this.#stop(victim, random.between(200, 4_000)) : this.#kill(victim);
    // Handled here and not in `end`: nobody awaits these any more once the row has been given up.
    const tracked = work
      .catch((error: unknown) => this.stage.violation(`a scheduler did not come back: ${String(error)}`))
      .finally(() => this.#pending.delete(tracked));
    this.#pending.add(tracked);
  }

  async end(): Promise<void> {
    await Promise.all(this.#pending);
  }

  async #kill(victim: ServerProcess): Promise<void> {
    this.kills += 1;
    this.#down.add(victim);
    await victim.crashAndRestart();
    this.#down.delete(victim);
  }

  async #stop(victim: ServerProcess, forMs: number): Promise<void> {
    this.stops += 1;
    this.#down.add(victim);
    victim.process.pause();
    await this.stage.sleep(forMs);
    victim.process.resume();
    this.#down.delete(victim);
  }
}
