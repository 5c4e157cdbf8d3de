import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Gives the server that starts in this process one more built-in task: `kill`, which takes the process down. */
const bin = dirname(realpathSync(process.argv[1] ?? ''));
const module = pathToFileURL(join(bin, '../../server/dist/handlers/builtin.js')).href;
const { BUILTIN_HANDLERS } = (await import(module)) as { BUILTIN_HANDLERS: Record<string, () => void> };
BUILTIN_HANDLERS.kill = () => void process.kill(process.pid, 'SIGKILL');
