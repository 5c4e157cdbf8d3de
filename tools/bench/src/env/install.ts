import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Programs that are no npm packages. Whether this one is there; root on Debian installs what is missing. */
export async function isThere(program: string, say: (text: string) => void): Promise<boolean> {
  return (await runs(program)) || ((await install(program, say)) && (await runs(program)));
}

/** Some leave with another code after saying their version; what matters is that there is a program. */
async function runs(program: string): Promise<boolean> {
  return execute(program, ['--version']).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
}

async function install(program: string, say: (text: string) => void): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  say(`installing ${program} (apt-get) ...`);
  const apt = (...args: string[]): Promise<unknown> =>
    execute('apt-get', args, { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
  const attempt = (): Promise<unknown> => apt('install', '-y', '--no-install-recommends', program);
  try {
    await attempt().catch(async () => {
      await apt('update');
      await attempt();
    });
    return true;
  } catch {
    return false;
  }
}
