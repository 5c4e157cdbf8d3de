import { createLogger, parseConfig, startServer } from '../../dist/index.js';

/** A server that has a handler which takes the process down, as one that runs out of memory does. */
const logger = createLogger({ level: 'silent', format: 'json' });
const handlers = { kill: () => process.kill(process.pid, 'SIGKILL') };
const server = await startServer(parseConfig(process.argv.slice(2), process.env, { isTTY: false }), {
  logger,
  handlers,
});
process.stdout.write(`${JSON.stringify({ msg: 'listening', api: server.apiUrl, metrics: server.metricsUrl })}\n`);
process.once('SIGTERM', () => void server.stop());
