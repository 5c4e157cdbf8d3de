import type { Fault } from '../fault.js';
import type { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { startApiPair, type ApiPair } from '../support/api-pair.js';
import { inTurn, together } from '../support/concurrency.js';
import { jobsOn } from '../support/jobs.js';

const CALLERS = 50;

interface Tally {
  replayed: number;
  gone: number;
  /** How long the last start took until retention had run: the replays are sent at about that time. */
  startMs: number;
}

/** How many dead letters are raced for in one run of retention. */
const ROUND = 10;
const MOST_MORE = 5;
const RETENTION_HOURS = 0.0004;

/**
 * Retention removes the job of a dead letter while fifty callers ask for a replay. Either one of them gets a new job
 * and the others are told that it was replayed, or nobody gets one because the job was already gone. Removal is no loss
 * here, so these calls stay out of the history.
 */
export const replayRaces: Fault = {
  row: 19,
  name: 'fifty replays racing retention',
  check: 'one 201, the rest 409 or 404',
  unit: 'dead letters',
  full: 1_000,
  everyday: 10,
  async run(stage, count) {
    const pair = await startApiPair(stage);
    const { database } = pair;
    const cleaner = stage.prepareServer({
      database,
      mode: 'worker',
      args: [`--retention-hours=${RETENTION_HOURS}`, '--default-queue=nothing here'],
    });
    const tally: Tally = { replayed: 0, gone: 0, startMs: 1_000 };
    // One round more if the replays of all came too late, as they do if this process stands still.
    const isWanted = (done: number): boolean =>
      done < count || (tally.replayed === 0 && done < count + MOST_MORE * ROUND);
    for (let done = 0; isWanted(done); done += ROUND) {
      const letters = await deadLetters(stage, pair, done < count ? Math.min(ROUND, count - done) : ROUND, done);
      await race(stage, pair, cleaner, letters, tally);
    }
    const twice = await database.count(
      `(SELECT FROM millrace.dead_letters WHERE replay_job_id IS NOT NULL
        GROUP BY replay_job_id HAVING count(*) > 1) AS twice`,
    );
    stage.expect(twice === 0, `${twice} jobs are the replay of more than one dead letter`);
    stage.expect(tally.replayed > 0, 'no replay was ever in time');
    stage.note(`${tally.replayed} replayed, ${tally.gone} already gone`);
  },
};

async function deadLetters(
  stage: Stage,
  { clients: [client] }: ApiPair,
  size: number,
  from: number,
): Promise<readonly number[]> {
  const queue = `doomed-${from}`;
  await client.send('other', 'POST', '/api/v1/jobs/batch', { body: { jobs: jobsOn(queue, size) } });
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
  const letters = (page.body.dead_letters as readonly { id: number; job_id: string }[]).filter(({ job_id }) =>
    ids.has(job_id),
  );
  stage.expect(letters.length === size, `${size} failures made ${letters.length} dead letters`);
  return letters.map(({ id }) => id);
}

async function race(
  stage: Stage,
  { database, clients }: ApiPair,
  cleaner: ServerProcess,
  letters: readonly number[],
  tally: Tally,
): Promise<void> {
  // Jobs are kept for a second and a half; retention runs at a start unless another process ran it recently.
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

/** In the end every original job is gone, replayed or not: it really was a race. */
const removal = (stage: Stage, database: Database, letters: readonly number[]): Promise<unknown> =>
  stage.until(
    async () =>
      (await database.count(
        `millrace.dead_letters d JOIN millrace.jobs j ON j.id = d.job_id WHERE d.id = ANY ($1::bigint[])`,
        [letters],
      )) === 0,
    { what: 'retention to remove the jobs', everyMs: 250 },
  );

function judge(stage: Stage, letter: number, answers: readonly (number | null)[], tally: Tally): void {
  const count = (status: number): number => answers.filter((answer) => answer === status).length;
  const [created, replayed, gone] = [count(201), count(409), count(404)];
  const text = `dead letter ${letter}: ${created} × 201, ${replayed} × 409, ${gone} × 404 of ${answers.length}`;
  stage.expect(created + replayed + gone === answers.length, text);
  stage.expect(created === 1 || (created === 0 && replayed === 0), text);
  if (created === 1) tally.replayed += 1;
  else tally.gone += 1;
}
