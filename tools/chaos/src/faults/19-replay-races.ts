import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import type { Database } from '../stage/database.js';
import { QUICK } from '../stage/actors.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { inTurn, together } from './support/lanes.js';

const CALLERS = 50;
interface Tally {
  replayed: number;
  gone: number;
  /** How long the process took last time until it had retention behind it: about then the race is on. */
  startMs: number;
}

type Clients = readonly [ChaosClient, ChaosClient];

/** Dead letters that one run of retention is raced for. */
const ROUND = 10;
const RETENTION_HOURS = 0.0004;

/**
 * Retention comes for the job of a dead letter while fifty callers want it replayed. One of them gets a new job, and the others are told that
 * it was replayed; or nobody does, because the job had gone. What is removed here is no loss, so these calls stay out of the history.
 */
export const replayRaces: Fault = {
  row: 19,
  name: 'fifty replays racing retention',
  check: 'one 201, the rest 409 or 404',
  unit: 'dead letters',
  full: 1_000,
  everyday: 10,
  async run(stage, count) {
    const database = await stage.database();
    const servers = [
      await stage.server({ database, mode: 'api' }),
      await stage.server({ database, mode: 'api' }),
    ] as const;
    const clients = [stage.client(servers[0]), stage.client(servers[1])] as const;
    const cleaner = stage.prepareServer({
      database,
      mode: 'worker',
      args: [`--retention-hours=${RETENTION_HOURS}`, '--default-queue=nothing here'],
    });
    const tally: Tally = { replayed: 0, gone: 0, startMs: 1_000 };
    for (let done = 0; done < count; done += ROUND) {
      const letters = await deadLetters(stage, clients, Math.min(ROUND, count - done), done);
      await race(stage, database, clients, cleaner, letters, tally);
    }
    const twice = await database.count(
      `(SELECT replay_job_id FROM millrace.dead_letters WHERE replay_job_id IS NOT NULL GROUP BY 1 HAVING count(*) > 1) t`,
    );
    stage.expect(twice === 0, `${twice} jobs came out of more than one dead letter`);
    stage.expect(tally.replayed > 0, 'no replay was ever in time');
    stage.note(`${tally.replayed} replayed, ${tally.gone} gone before`);
  },
};

async function deadLetters(stage: Stage, clients: Clients, size: number, from: number): Promise<readonly number[]> {
  const [client] = clients;
  const queue = `doomed-${from}`;
  const config = { queue, ...QUICK };
  const jobs = Array.from({ length: size }, () => ({ task_name: 'work', config }));
  await client.send('other', 'POST', '/api/v1/jobs/batch', { body: { jobs } });
  const lease = { body: { max_jobs: size, lease_secs: 60 }, asWorker: true };
  const { body } = await client.send('other', 'POST', `/api/v1/queues/${queue}/lease`, lease);
  const leased = body.jobs as readonly { job: { id: string }; lease_token: string }[];
  const ids = new Set(leased.map(({ job }) => job.id));
  await Promise.all(
    leased.map(({ job, lease_token }) =>
      client.send('other', 'POST', `/api/v1/jobs/${job.id}/fail`, {
        body: { lease_token, error: 'doomed', retryable: false },
        asWorker: true,
      }),
    ),
  );
  const page = await client.send('other', 'GET', '/api/v1/dlq?limit=100');
  const letters = (page.body.dead_letters as readonly { id: number; job_id: string }[]).filter((each) =>
    ids.has(each.job_id),
  );
  stage.expect(letters.length === size, `${size} failures made ${letters.length} dead letters`);
  return letters.map(({ id }) => id);
}

async function race(
  stage: Stage,
  database: Database,
  clients: Clients,
  cleaner: ServerProcess,
  letters: readonly number[],
  tally: Tally,
): Promise<void> {
  // The window is a second and a half; retention runs once at a start, if nobody has had a turn lately.
  await stage.sleep(RETENTION_HOURS * 3_600_000);
  await database.query(`DELETE FROM millrace.loops WHERE name = 'retention'`);
  const startedAt = performance.now();
  const started = cleaner.start();
  const removing = removal(stage, database, letters);
  await Promise.all(
    letters.map(async (letter) => {
      await stage.sleep(tally.startMs * stage.random.between(0.3, 1.1));
      const answers = await together(CALLERS, (caller) =>
        inTurn(clients, caller).send('other', 'POST', `/api/v1/dlq/${letter}/replay`),
      );
      judge(
        stage,
        letter,
        answers.map(({ status }) => status),
        tally,
      );
    }),
  );
  await Promise.all([started.then(() => (tally.startMs = performance.now() - startedAt)), removing]);
  await cleaner.process.kill();
}

/** Every original is gone in the end, replayed or not: the race was one. */
const removal = (stage: Stage, database: Database, letters: readonly number[]): Promise<unknown> =>
  stage.until(
    async () =>
      (await database.count(
        `millrace.dead_letters d JOIN millrace.jobs j ON j.id = d.job_id WHERE d.id = ANY ($1::bigint[])`,
        [letters],
      )) === 0,
    { what: 'retention to remove the jobs', withinMs: 30_000, everyMs: 250 },
  );

function judge(stage: Stage, letter: number, answers: readonly (number | null)[], tally: Tally): void {
  const count = (status: number): number => answers.filter((each) => each === status).length;
  const [created, replayed, gone] = [count(201), count(409), count(404)];
  const text = `dead letter ${letter}: ${created} × 201, ${replayed} × 409, ${gone} × 404 of ${answers.length}`;
  stage.expect(created + replayed + gone === answers.length, text);
  stage.expect(created === 1 || (created === 0 && replayed === 0), text);
  if (created === 1) tally.replayed += 1;
  else tally.gone += 1;
}
