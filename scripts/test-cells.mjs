// `npm run test:cells`: tests of the API with the service on four databases. Arguments are folders of tests.
import { spawn } from 'node:child_process';
import { installed } from './lib/setup.mjs';
import { root } from './lib/tools.mjs';

const FOLDERS = ['engine', 'http', 'loops', 'pool', 'relay', 'telemetry', 'wiring'].map(
  (folder) => `packages/server/test/${folder}`,
);

/**
 * Tests that by their nature are about the one database that they reach into, by what they do with it. Everything else
 * must pass as it does on one.
 */
const ON_ONE_DATABASE = {
  'hold a row or a table of it locked, on a connection of their own': [
    'cancelling cancels the retry if an attempt is just failing',
    'cancelling cancels the running job if it is just being claimed',
    'a queue whose claims are slow still lists one answer in order, and finds what lies behind the floor',
    'a queue whose claims are slow is claimed exactly again before long, however much is in front of the floor',
    'a queue whose claims are slow delivers what it has claimed, also if the look behind the floor fails',
    'a client that hangs up while its claim is in flight leaves the job as it was',
    'a client that hangs up while its claim is in flight because the server stops leaves the job to the others',
    'operations can be stopped: what was done stays, the rest is left alone',
    'operations take turns: a small one does not wait for a large one',
    'operations run five at a time for each tenant, however many are asked for at once',
    'a context that would exceed the limit is counted once for a completion that two processes are told at the same',
    'a workflow that somebody has locked',
  ],
  'run a part of the engine on it': [
    'the metrics of durable jobs count signals whose time or whose job is over',
    'retention of a workflow that was resumed removes it with the jobs from before',
  ],
  'ask it for one row, where several give one each': [
    'groups of a tenant whose errors are all different end where the entries that are asked for end',
    'reports on many jobs in one call are a thousand at most, and few statements',
    'running a job now survives being claimed with others into a bundle',
    'running a job now never makes two of a job that is claimed at that moment',
    'a bulk cancellation of jobs that the pool runs takes them out of their bundles',
  ],
  'write rows of one tenant, which several would all have': [
    'GET /workers forgets who was last seen more than an hour ago, unless it still holds a job',
    'finds by itself, within five seconds, a job that nobody announces while it waits',
  ],
};

process.chdir(root);
await installed();
const folders = process.argv.length > 2 ? process.argv.slice(2) : FOLDERS;
const literally = (text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
const others = `^(?!.*(?:${Object.values(ON_ONE_DATABASE).flat().map(literally).join('|')}))`;
const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'quick', '-t', others, ...folders];
const env = { ...process.env, MILLRACE_TEST_CELLS: '4' };
spawn(process.execPath, vitest, { stdio: 'inherit', env }).once('exit', (code) => process.exit(code ?? 1));
