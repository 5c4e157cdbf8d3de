import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import pg from 'pg';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { loadMigrations } from '../../src/store/migrations/migrate.js';
import { readRepositoryFile } from '../docs/generated.js';
import { cloneDatabase } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { MILLRACE } from '../support/processes.js';
import { programOr, shellBlocks } from './tools.js';

const WHAT = 'the quick start of docs/production.md';
const tools = ['psql', 'curl', 'openssl'].map((name) => programOr(name, WHAT));

/** Roles and databases are the whole server's, which other tests share: under names unique to this run. */
async function ownNames(): Promise<{ readonly suffix: string; readonly owner: string; readonly app: string }> {
  const suffix = randomBytes(6).toString('hex');
  const [owner, app] = [`owner_${suffix}`, `app_${suffix}`];
  const admin = new pg.Client({ connectionString: inject('adminUrl') });
  await admin.connect();
  onTestFinished(async () => {
    await admin.query(`DROP DATABASE IF EXISTS quick_${suffix} WITH (FORCE)`);
    await admin.query(`DROP ROLE IF EXISTS ${owner}`);
    await admin.query(`DROP ROLE IF EXISTS ${app}`);
    await admin.end();
  });
  return { suffix, owner, app };
}

function adapted(script: string, names: Awaited<ReturnType<typeof ownNames>>, ports: readonly number[]): string {
  const database = `quick_${names.suffix}`;
  return script
    .replaceAll('millrace_owner', names.owner)
    .replaceAll('millrace_app', names.app)
    .replaceAll(/(?<=DATABASE |\\connect |\$database_host\/)millrace\b/g, database)
    .replaceAll(/\b(8000|9090|9091)\b/g, (port) => String(ports[['8000', '9090', '9091'].indexOf(port)]));
}

function run(script: string, env: NodeJS.ProcessEnv, cwd: string): Promise<{ code: number | null; output: string }> {
  // A group of its own: if the script fails half-way, what it has started ends with it.
  const child = spawn('sh', ['-s'], { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  const note = (text: string): void => void (output += text);
  child.stdout.setEncoding('utf8').on('data', note);
  child.stderr.setEncoding('utf8').on('data', note);
  child.stdin.end(script);
  const end = (): void => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // It has ended.
    }
  };
  onTestFinished(end);
  return new Promise((resolve) => {
    child.on('exit', (code) => code === 0 || end());
    child.on('close', (code) => resolve({ code, output }));
  });
}

describe('docs/production.md', () => {
  it.runIf(tools.every((path) => path !== null))('leads from an empty PostgreSQL to a job that ran', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'millrace-production-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const names = await ownNames();
    const ports = [await freePort(), await freePort(), await freePort()];
    const blocks = shellBlocks('docs/production.md').filter(({ notRun }) => notRun === null);
    expect(blocks.length).toBeGreaterThan(8);
    const body = blocks.map(({ text }) => text).join('\n');
    const program = `#!/bin/sh\nexec "${process.execPath}" "${MILLRACE}" "$@"\n`;
    writeFileSync(join(directory, 'millrace'), program, { mode: 0o755 });
    const adminUrl = inject('adminUrl');
    const env = {
      PATH: `${directory}${delimiter}${process.env.PATH}`,
      HOME: directory,
      admin_url: adminUrl,
      database_host: /@([^/]+)\//.exec(adminUrl)![1],
      config: join(directory, 'config'),
    };

    const { code, output } = await run(`set -eu\n${adapted(body, names, ports)}`, env, directory);

    expect({ code, output }).toMatchObject({ code: 0 });
    expect(output).toContain('"result":{"hello":"production"}');
    expect(output).toContain('"tenant_id":"globex"');
    expect(output).toContain('"mode":"worker"');
    expect(output).not.toContain('"level":"error"');
    // Secrets are for their owner alone.
    const files = readdirSync(env.config, { recursive: true, encoding: 'utf8' }).map((name) => join(env.config, name));
    expect(files).toContain(join(env.config, 'credentials/worker-token'));
    expect(files.map((path) => statSync(path).mode & 0o077)).toEqual(files.map(() => 0));
  });

  it.each(['docs/production.md', 'docs/operations.md', 'deploy/README.md'])(
    '%s says why the tests do not run a block',
    (path) => {
      const blocks = shellBlocks(path);
      const skipped = blocks.filter(({ notRun }) => notRun !== null);
      expect(skipped.length).toBeGreaterThan(1);
      for (const { text } of skipped) expect(text).toMatch(/sudo|docker|kubectl|caddy|pgbouncer|pg_dump/);
      // The one that makes a JWT and the one that makes secrets have tests of their own.
      const run = blocks.filter(({ notRun }) => notRun === null).map(({ text }) => text);
      if (path === 'docs/operations.md') expect(run).toEqual([expect.stringMatching(/^node -e '/)]);
      if (path === 'deploy/README.md') expect(run).toEqual(['deploy/compose/secrets.sh acme\n']);
    },
  );
});

const sqlBlocks = (page: string): string[] =>
  [...page.matchAll(/^ *```sql\n([^]*?)^ *```$/gm)].map(([, text]) => text!);

it('the statements of the runbook, and the one that tells how far back one can go, work', async () => {
  const [, runbook = ''] = /^## Runbook\n([^]*?)^## /m.exec(readRepositoryFile('docs/operations.md')) ?? [];
  const statements = sqlBlocks(runbook);
  expect(statements).toHaveLength(3);
  const database = await cloneDatabase();
  const [, tables = []] = await Promise.all(statements.map((text) => database.query(text)));
  expect(tables.map(({ relname }) => relname)).toContain('jobs');
  const [range = '', ...rest] = sqlBlocks(readRepositoryFile('docs/upgrades.md'));
  expect(rest).toEqual([]);
  const newest = loadMigrations().at(-1)!;
  expect(await database.query(range)).toEqual([{ schema: newest.version, oldest_program: newest.oldest }]);
  await database.drop();
});
