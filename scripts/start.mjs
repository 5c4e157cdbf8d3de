// `npm start`: installs and builds what is missing, then runs the service in this process, so that signals reach it.
import { ready } from './lib/setup.mjs';

const underNpm = process.env.npm_lifecycle_event !== undefined;
if (underNpm) stopWhenOrphaned();

await ready();
const { run } = await import('../packages/cli/dist/main.js');
await run({ underNpm });

/** npm runs us through a shell. A SIGTERM to npm ends both and never reaches us: we notice that we are orphaned. */
function stopWhenOrphaned() {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 200);
  watch.unref();
}
