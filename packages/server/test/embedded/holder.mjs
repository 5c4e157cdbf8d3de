// A process that uses an embedded database, for tests that need real ones: holder.mjs MODULE DIR
//   SIGTERM  stops in order     SIGUSR2  exits without stopping     SIGINT  is ignored, as during a drain
import { pathToFileURL } from 'node:url';

const [module, dir] = process.argv.slice(2);
const say = (event, more = {}) => process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);
const ignore = () => undefined;
const log = { info: (fields, text) => say('log', { text: text ?? fields }), warn: ignore, error: ignore };

process.on('SIGINT', ignore);
process.on('SIGUSR2', () => process.exit(3));
const { startEmbedded } = await import(pathToFileURL(module).href);
say('starting');
try {
  const embedded = await startEmbedded({ dir, log });
  const alive = setInterval(ignore, 60_000);
  process.on('SIGTERM', async () => {
    await embedded.stop();
    say('down');
    clearInterval(alive);
    process.exit(0);
  });
  // Last, because whoever reads this may send a signal at once.
  say('up', { url: embedded.url, owner: embedded.owner });
} catch (error) {
  say('failed', { name: error.name, message: error.message });
  process.exit(1);
}
