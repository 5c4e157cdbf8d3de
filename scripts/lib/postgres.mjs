/** A PostgreSQL of the system's own programs in a directory of ours: pg_dump and its like have to fit the server. */
import { spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const NEEDED = ['initdb', 'postgres', 'pg_ctl', 'pg_dump', 'pg_restore', 'pg_basebackup', 'psql'];

/** The directory with all the programs of one version, the newest that there is; null if there is none. */
export function findPrograms(given) {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const paths = [...(process.env.PATH ?? '').split(':'), '/usr/local/pgsql/bin', '/opt/homebrew/bin'];
  const candidates =
    given === undefined ? [...versions.map((version) => join(debian, version, 'bin')), ...paths] : [given];
  return candidates.find((path) => NEEDED.every((name) => existsSync(join(path, name)))) ?? null;
}

/** PostgreSQL refuses to run as root: then another account owns the directories and runs the programs. */
export function accountForPostgres() {
  if (process.getuid() !== 0) return {};
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const entry = lines.find((line) => line.startsWith(`${name}:`))?.split(':');
    if (entry !== undefined) return { uid: Number(entry[2]), gid: Number(entry[3]) };
  }
  throw new Error('PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody');
}

export class Cluster {
  constructor({ programs, account, directory }) {
    Object.assign(this, { programs, account, directory, data: join(directory, 'data') });
  }

  /** Makes the directory that holds the data, the socket and the log. */
  prepare() {
    mkdirSync(this.directory, { mode: 0o700, recursive: true });
    if (this.account.uid !== undefined) chownSync(this.directory, this.account.uid, this.account.gid);
  }

  async create() {
    this.prepare();
    await this.run('initdb', ['-D', this.data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-sync']);
  }

  /** Listens on a socket in its own directory, which nobody else can enter, and on no port. */
  async start() {
    const options = `-c listen_addresses='' -c unix_socket_directories='${this.directory}'`;
    await this.run('pg_ctl', [
      '-D',
      this.data,
      '-w',
      '-t',
      '120',
      '-l',
      join(this.directory, 'log'),
      '-o',
      options,
      'start',
    ]);
    this.started = true;
  }

  async stop(mode = 'fast') {
    if (!this.started) return;
    this.started = false;
    await this.run('pg_ctl', ['-D', this.data, '-w', '-m', mode, 'stop']);
  }

  url(database) {
    return `postgres://postgres@${encodeURIComponent(this.directory)}/${database}`;
  }

  /** Runs one of PostgreSQL's programs against this cluster; resolves to what it printed. */
  run(name, args) {
    const env = { PATH: process.env.PATH, PGHOST: this.directory, PGUSER: 'postgres', LC_ALL: 'C' };
    return output(join(this.programs, name), args, { env, cwd: this.directory, ...this.account });
  }
}

/** Resolves to what a program printed; rejects with it if the program fails. */
export function output(program, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (part) => (text += part));
    child.stderr.setEncoding('utf8').on('data', (part) => (text += part));
    child.on('error', reject);
    // Not `close`: a server that pg_ctl starts keeps the pipes open.
    child.on('exit', (code) =>
      code === 0 ? resolve(text) : reject(new Error(`${program} ended with ${code}\n${text}`)),
    );
  });
}
