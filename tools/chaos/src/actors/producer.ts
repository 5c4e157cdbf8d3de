import { setTimeout as sleep } from 'node:timers/promises';
import { ChaosClient, type Reply } from '../history/client.js';
import { fileJournal } from '../history/history.js';
import { inBatch } from '../oracle/batches.js';
import { readSettings } from '../stage/actors.js';
import { rotating } from './rotating.js';

/**
 * Creates as many jobs as it was told to, or until SIGTERM. A create without an answer is not repeated: it may have
 * taken effect.
 */
const settings = readSettings();
const urls = rotating(settings.urls);
const journal = fileJournal(settings.journal);
const client = new ChaosClient({ ...settings, url: urls.current, journal });

let stopping = false;
process.once('SIGTERM', () => (stopping = true));

for (let made = 0; !stopping && (settings.jobs === 0 || made < settings.jobs); made += settings.batch) {
  const { status } = await create(made);
  const failed = status === null || status >= 500;
  if (failed) urls.advance();
  // A server that is starting needs the processor more than we need an answer.
  await sleep(failed ? 100 : settings.pauseMs);
}
journal.close();

function create(made: number): Promise<Reply> {
  const { name, batch } = settings;
  const job = {
    payload: batch === 1 ? {} : inBatch(`${name}:${made}`, batch),
    config: { queue: settings.queue, ...settings.config },
  };
  if (batch === 1) return client.create(settings.task, job);
  return client.batch(Array.from({ length: batch }, () => ({ task_name: settings.task, ...job })));
}
