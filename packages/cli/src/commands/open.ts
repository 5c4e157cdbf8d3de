import { spawn } from 'node:child_process';
import type { Run } from '../invocation/context.js';
import { targetOf } from '../connection/target.js';
import type { open as spec } from '../specs/local.js';
import { EXIT } from '../invocation/exit.js';

/** What opens an address on each platform. */
const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

export const open: Run<(typeof spec)['options']> = async ({ connection, env, io, options }) => {
  const url = new URL(targetOf(connection, env).url.value);
  // An address for a browser carries no credentials.
  [url.username, url.password] = ['', ''];
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/ui/`;
  await io.print(url.href);
  if (!options.print && io.terminal.stdout) await launch(url.href, env);
  return EXIT.ok;
};

/** Never fails: the address has been printed. */
function launch(url: string, env: NodeJS.ProcessEnv): Promise<void> {
  const [program = '', ...args] = OPENERS[process.platform] ?? [env.BROWSER || 'xdg-open'];
  return new Promise((resolve) => {
    const child = spawn(program, [...args, url], { detached: true, stdio: 'ignore' });
    child.once('error', () => resolve());
    child.once('spawn', () => {
      child.unref();
      resolve();
    });
  });
}
