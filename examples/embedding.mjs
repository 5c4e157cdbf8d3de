// Your own program that serves Millrace and runs its jobs with your own handlers.
//
//   DATABASE_URL=postgres://... node embedding.mjs --dev
import { setTimeout as wait } from 'node:timers/promises';
import { configSecrets, createLogger, parseConfig, PermanentError, startServer } from '@millrace/server';

const handlers = {
  // Returns the result of the job: an object, or nothing.
  total: (payload) => {
    if (!Array.isArray(payload.prices)) throw new PermanentError('prices must be a list'); // no retry would help
    return { total: payload.prices.reduce((sum, price) => sum + price, 0) };
  },

  // Throws to fail the attempt, which is retried while the job has retries left.
  charge: async (payload, { job, log, signal }) => {
    log.info({ job_id: job.id, attempt: job.attempt }, 'charging');
    // Pass the signal to whatever takes long: it aborts on timeout, cancellation and when shutdown runs out of time.
    await wait(20, undefined, { signal });
    if (job.attempt === 1) throw new Error('the bank does not answer');
    // Delivery is at least once, so the bank must recognise a repeated charge by its reference.
    return { charged: payload.amount, reference: job.id };
  },
};

// The flags and variables of the command line; a program may also build the configuration itself.
const config = parseConfig(process.argv.slice(2), process.env, { isTTY: process.stdout.isTTY === true });
const logger = createLogger({ level: config.logLevel, format: config.logFormat, secrets: configSecrets(config) });

const server = await startServer(config, { logger, handlers });
logger.info({ api: server.apiUrl, metrics: server.metricsUrl }, 'listening');

// Lets handlers finish, returns what has not started, closes everything. Then nothing keeps the process alive.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void server.stop());
