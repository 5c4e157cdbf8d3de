import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  configSecrets,
  credentialWarnings,
  describeOptions,
  parseConfig,
  parseDatabaseConfig,
  UsageError,
  type Config,
} from '../../src/config/config.js';
import { OPTIONS } from '../../src/config/options.js';

const TERMINAL = { isTTY: true };
const PIPE = { isTTY: false };

/** The least a serving process needs outside development mode. */
const SERVING = ['--api-keys=key-a:a', '--worker-token=w', '--database-url=postgres://localhost/x'];

const parse = (argv: readonly string[], env: NodeJS.ProcessEnv = {}, io = PIPE): Config => parseConfig(argv, env, io);

/** The one line that the operator sees. */
function refusal(argv: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  try {
    parse(argv, env);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    expect(error.exitCode).toBe(2);
    expect(error.message).not.toContain('\n');
    return error.message;
  }
  throw new Error(`accepted: ${argv.join(' ')}`);
}

describe('defaults', () => {
  it('are the documented ones', () => {
    expect(parse(SERVING)).toEqual({
      mode: 'all',
      processes: 1,
      apiPort: 8000,
      metricsPort: 9090,
      host: '0.0.0.0',
      workers: 10,
      defaultQueue: 'default',
      retentionHours: null,
      dev: false,
      corsOrigins: null,
      allowedHosts: null,
      apiKeys: new Map([['key-a', 'a']]),
      readKeys: new Map(),
      adminToken: null,
      jwtSecret: null,
      workerToken: 'w',
      apiKeysFile: null,
      readKeysFile: null,
      jwtSecretFile: null,
      workerTokenFile: null,
      adminTokenFile: null,
      otlpEndpoint: null,
      traceUrl: null,
      database: { kind: 'url', url: 'postgres://localhost/x' },
      pooler: 'none',
      directDatabaseUrl: null,
      outbox: null,
      outboxToken: null,
      maxDbConnections: 10,
      autoMigrate: true,
      builtinTasks: ['echo', 'fail', 'log', 'sleep'],
      maxBodyBytes: 16_777_216,
      maxPayloadBytes: 4_194_304,
      maxInFlight: 1024,
      maxConnections: 10_000,
      dataDir: resolve('.millrace'),
      logLevel: 'info',
      logFormat: 'json',
      shutdownSecs: 30,
    });
  });

  it('write pretty lines on a terminal only', () => {
    expect(parse(SERVING, {}, TERMINAL).logFormat).toBe('pretty');
    expect(parse([...SERVING, '--log-format=json'], {}, TERMINAL).logFormat).toBe('json');
  });
});

/** One valid value for each option, and what it becomes. */
const SAMPLES: readonly (readonly [keyof Config, string, string, string, unknown])[] = [
  ['mode', '--mode', 'MILLRACE_MODE', 'worker', 'worker'],
  ['processes', '--processes', 'MILLRACE_PROCESSES', 'auto', 'auto'],
  ['apiPort', '--api-port', 'MILLRACE_API_PORT', '0', 0],
  ['metricsPort', '--metrics-port', 'MILLRACE_METRICS_PORT', '65535', 65_535],
  ['host', '--host', 'MILLRACE_HOST', '::1', '::1'],
  ['workers', '--workers', 'MILLRACE_WORKERS', '1', 1],
  ['builtinTasks', '--builtin-tasks', 'MILLRACE_BUILTIN_TASKS', 'sleep, echo', ['echo', 'sleep']],
  ['defaultQueue', '--default-queue', 'MILLRACE_DEFAULT_QUEUE', 'über/queue', 'über/queue'],
  ['retentionHours', '--retention-hours', 'MILLRACE_RETENTION_HOURS', '0.25', 0.25],
  [
    'corsOrigins',
    '--cors-origins',
    'MILLRACE_CORS_ORIGINS',
    'https://A.example/, http://b:81',
    ['https://a.example', 'http://b:81'],
  ],
  ['allowedHosts', '--allowed-hosts', 'MILLRACE_ALLOWED_HOSTS', 'Millrace, a.b', ['millrace', 'a.b']],
  ['apiKeys', '--api-keys', 'MILLRACE_API_KEYS', 'k:t', new Map([['k', 't']])],
  ['adminToken', '--admin-token', 'MILLRACE_ADMIN_TOKEN', 'operator', 'operator'],
  ['readKeys', '--read-keys', 'MILLRACE_READ_KEYS', 'r:t', new Map([['r', 't']])],
  ['jwtSecret', '--jwt-secret', 'MILLRACE_JWT_SECRET', ' kept as is ', ' kept as is '],
  ['apiKeysFile', '--api-keys-file', 'MILLRACE_API_KEYS_FILE', '/run/secrets/keys', '/run/secrets/keys'],
  ['readKeysFile', '--read-keys-file', 'MILLRACE_READ_KEYS_FILE', 'readers', 'readers'],
  ['jwtSecretFile', '--jwt-secret-file', 'MILLRACE_JWT_SECRET_FILE', 'jwt', 'jwt'],
  ['workerTokenFile', '--worker-token-file', 'MILLRACE_WORKER_TOKEN_FILE', 'workers', 'workers'],
  ['adminTokenFile', '--admin-token-file', 'MILLRACE_ADMIN_TOKEN_FILE', 'operators', 'operators'],
  ['otlpEndpoint', '--otlp-endpoint', 'MILLRACE_OTLP_ENDPOINT', 'http://c:4318/', 'http://c:4318'],
  ['traceUrl', '--trace-url', 'MILLRACE_TRACE_URL', 'https://t/{trace_id}?x', 'https://t/{trace_id}?x'],
  ['workerToken', '--worker-token', 'MILLRACE_WORKER_TOKEN', 'w2\n', 'w2'],
  [
    'database',
    '--database-url',
    'DATABASE_URL',
    'postgresql://u:p@h:1/d',
    { kind: 'url', url: 'postgresql://u:p@h:1/d' },
  ],
  ['pooler', '--pooler', 'MILLRACE_POOLER', 'none', 'none'],
  [
    'directDatabaseUrl',
    '--direct-database-url',
    'MILLRACE_DIRECT_DATABASE_URL',
    'postgres://u@h:2/d\n',
    'postgres://u@h:2/d',
  ],
  ['outbox', '--outbox', 'MILLRACE_OUTBOX', 'postgres://u@h/app', 'postgres://u@h/app'],
  ['outboxToken', '--outbox-token', 'MILLRACE_OUTBOX_TOKEN', 'of-a-tenant', 'of-a-tenant'],
  ['maxDbConnections', '--max-db-connections', 'MILLRACE_MAX_DB_CONNECTIONS', '25', 25],
  ['autoMigrate', '--auto-migrate', 'MILLRACE_AUTO_MIGRATE', 'false', false],
  ['maxBodyBytes', '--max-body-bytes', 'MILLRACE_MAX_BODY_BYTES', '1', 1],
  ['maxPayloadBytes', '--max-payload-bytes', 'MILLRACE_MAX_PAYLOAD_BYTES', '5', 5],
  ['maxInFlight', '--max-in-flight', 'MILLRACE_MAX_IN_FLIGHT', '64', 64],
  ['maxConnections', '--max-connections', 'MILLRACE_MAX_CONNECTIONS', '500', 500],
  ['dataDir', '--data-dir', 'MILLRACE_DATA_DIR', '/var/lib/x', '/var/lib/x'],
  ['logLevel', '--log-level', 'MILLRACE_LOG_LEVEL', 'debug', 'debug'],
  ['logFormat', '--log-format', 'MILLRACE_LOG_FORMAT', 'pretty', 'pretty'],
  ['shutdownSecs', '--shutdown-secs', 'MILLRACE_SHUTDOWN_SECS', '0.5', 0.5],
];

const REQUIRED: NodeJS.ProcessEnv = {
  MILLRACE_API_KEYS: 'key-a:a',
  MILLRACE_WORKER_TOKEN: 'w',
  DATABASE_URL: 'postgres://localhost/x',
  MILLRACE_POOLER: 'transaction',
  MILLRACE_OUTBOX_TOKEN: 'of-a-tenant',
};

describe.each(SAMPLES)('%s', (key, flag, variable, text, value) => {
  it('is set by its flag, in both spellings', () => {
    expect(parse([`${flag}=${text}`], REQUIRED)[key]).toEqual(value);
    expect(parse([flag, text], REQUIRED)[key]).toEqual(value);
  });

  it('is set by its variable, and the flag wins', () => {
    expect(parse([], { ...REQUIRED, [variable]: text })[key]).toEqual(value);
    expect(parse([`${flag}=${text}`], { ...REQUIRED, [variable]: 'not valid: \u0001' })[key]).toEqual(value);
  });

  it('may not be given as an empty flag', () => {
    expect(refusal([`${flag}=`], REQUIRED)).toBe(`${flag} must not be empty`);
  });
});

it('has a sample above for every option', () => {
  const sampled = SAMPLES.map(([, flag]) => flag);
  expect(
    Object.values(OPTIONS)
      .map((option) => `--${option.flag}`)
      .sort(),
  ).toEqual([...sampled, '--dev', '--cells'].sort());
});

describe('values that are refused', () => {
  it.each([
    [['--mode=both'], '--mode must be one of all, api, worker, not "both"'],
    [['--api-port=65536'], '--api-port must be a whole number from 0 to 65535, not "65536"'],
    [['--api-port=-1'], '--api-port must be a whole number from 0 to 65535, not "-1"'],
    [['--api-port=8e3'], '--api-port must be a whole number from 0 to 65535, not "8e3"'],
    [['--metrics-port=80.5'], '--metrics-port must be a whole number from 0 to 65535, not "80.5"'],
    [['--processes=0'], '--processes must be auto or a whole number from 1 to 256, not "0"'],
    [['--workers=0'], '--workers must be a whole number from 1 to 10000, not "0"'],
    [['--workers=ten'], '--workers must be a whole number from 1 to 10000, not "ten"'],
    [['--retention-hours=0'], '--retention-hours must be a number above 0, at most 876000, not "0"'],
    [['--retention-hours=-1'], '--retention-hours must be a number above 0, at most 876000, not "-1"'],
    [['--retention-hours=Infinity'], '--retention-hours must be a number above 0, at most 876000, not "Infinity"'],
    [
      ['--builtin-tasks=echo,nothing'],
      '--builtin-tasks must be all, none or a comma list of echo, fail, log, sleep, not "echo,nothing"',
    ],
    [['--max-body-bytes=16MiB'], '--max-body-bytes must be a whole number from 1 to 268435456, not "16MiB"'],
    [['--max-db-connections=2'], '--max-db-connections must be a whole number from 3 to 1000, not "2"'],
    [['--auto-migrate=maybe'], '--auto-migrate must be true or false, not "maybe"'],
    [['--log-level=loud'], '--log-level must be one of trace, debug, info, warn, error, fatal, silent, not "loud"'],
    [['--log-format=xml'], '--log-format must be one of json, pretty, not "xml"'],
    [['--shutdown-secs=-1'], '--shutdown-secs must be a number of seconds from 0 to 86400, not "-1"'],
    [
      ['--cors-origins=https://ok.example,nonsense'],
      '--cors-origins entry 2 must be an origin such as https://app.example.com, not "https://ok.example,nonsense"',
    ],
    [
      ['--allowed-hosts=ok.example,b:8000'],
      '--allowed-hosts entry 2 must be a host name such as millrace.internal, without a port, not "ok.example,b:8000"',
    ],
    [[`--default-queue=${'q'.repeat(256)}`], `--default-queue must be at most 255 characters, not "${'q'.repeat(60)}"`],
    [['--api-port=7000', '--metrics-port=7000'], '--api-port and --metrics-port must differ, both are 7000'],
  ])('%j', (argv, line) => {
    expect(refusal([...SERVING, ...argv])).toBe(line);
  });

  it('names the variable when the value came from there', () => {
    expect(refusal(SERVING, { MILLRACE_API_PORT: 'tcp://10.0.0.1:80' })).toMatch(
      /^MILLRACE_API_PORT must be a whole number/,
    );
  });
});

describe('the command line', () => {
  it.each([
    [['--frobnicate'], 'unknown flag --frobnicate; see --help'],
    [['--port', '9000'], 'unknown flag --port; the port of the API is --api-port'],
    [['-x'], 'unknown flag -x; see --help'],
    [['--worker-tokn=hush'], 'unknown flag --worker-tokn; see --help'],
    [['--api-port'], '--api-port needs a value'],
    [['--worker-token', '--dev'], '--worker-token needs a value; write --worker-token=VALUE if it begins with a dash'],
    [['--dev', '--dev'], '--dev is given more than once'],
    [['--api-keys', 'k:t', 'hush:t2'], 'unexpected argument after --api-keys; see --help'],
    [['hush'], 'unexpected argument; see --help'],
    [['--', '--dev'], 'unexpected argument; see --help'],
  ])('%j is refused', (argv, line) => {
    expect(refusal(argv)).toBe(line);
  });

  it('listens on the loopback address in development mode, unless told otherwise', () => {
    expect(parse(['--dev']).host).toBe('127.0.0.1');
    expect(parse(['--dev', '--host=0.0.0.0']).host).toBe('0.0.0.0');
    expect(parse(['--dev'], { MILLRACE_HOST: '::' }).host).toBe('::');
    expect(parse(['--dev'], { MILLRACE_HOST: '' }).host).toBe('127.0.0.1');
    expect(parse(SERVING).host).toBe('0.0.0.0');
  });

  it('takes every origin for *, and no origin for none', () => {
    expect(parse([...SERVING, '--cors-origins=*']).corsOrigins).toBeNull();
    expect(parse([...SERVING, '--cors-origins=none']).corsOrigins).toEqual([]);
  });

  it('understands a boolean flag with a word behind it', () => {
    expect(parse([...SERVING, '--auto-migrate', 'false']).autoMigrate).toBe(false);
    expect(parse(['--auto-migrate', 'TRUE', ...SERVING]).autoMigrate).toBe(true);
    expect(parse(['--auto-migrate', '0', '--dev', 'true'])).toMatchObject({ autoMigrate: false, dev: true });
    expect(refusal(['--dev', 'maybe'])).toBe('unexpected argument after --dev; see --help');
    expect(refusal(['--dev', 'true', 'true'])).toBe('unexpected argument after --dev; see --help');
  });

  it('treats an empty variable as unset, credentials excepted', () => {
    const empty = Object.values(OPTIONS)
      .filter((option) => option.env !== 'DATABASE_URL' && !/KEYS|SECRET|TOKEN/.test(option.env))
      .map((option) => [option.env, ''] as const);
    expect(parse(SERVING, Object.fromEntries(empty))).toEqual(parse(SERVING));
  });
});

describe('development mode', () => {
  it('listens on the loopback address unless a host is given', () => {
    expect(parse(['--dev']).host).toBe('127.0.0.1');
    expect(parse(['--dev', '--host=0.0.0.0']).host).toBe('0.0.0.0');
    expect(parse(['--dev'], { MILLRACE_HOST: '::1' }).host).toBe('::1');
    expect(parse(SERVING).host).toBe('0.0.0.0');
  });

  it.each([[['--dev']], [['--dev=true']], [['--dev=1']]])('is switched on by %j', (argv) => {
    expect(parse(argv).dev).toBe(true);
  });

  it.each(['1', 'true', 'TRUE'])('is switched on by MILLRACE_DEV=%s', (text) => {
    expect(parse([], { MILLRACE_DEV: text }).dev).toBe(true);
  });

  it.each(['0', 'false', ''])('stays off with MILLRACE_DEV=%j', (text) => {
    expect(parse(SERVING, { MILLRACE_DEV: text }).dev).toBe(false);
  });

  it('can be switched off by the flag where the variable has it on', () => {
    expect(parse([...SERVING, '--dev=false'], { MILLRACE_DEV: '1' }).dev).toBe(false);
  });

  it('refuses what is neither true nor false', () => {
    expect(refusal(SERVING, { MILLRACE_DEV: 'yes please' })).toBe(
      'MILLRACE_DEV must be true or false, not "yes please"',
    );
  });

  it('overrides configured credentials', () => {
    expect(parse([...SERVING, '--jwt-secret=s', '--dev'])).toMatchObject({
      apiKeys: new Map(),
      jwtSecret: null,
      workerToken: null,
    });
  });

  it('needs no database and no credentials', () => {
    expect(parse(['--dev', '--data-dir=here']).database).toEqual({ kind: 'embedded', dir: resolve('here') });
  });
});

describe('fail-closed start', () => {
  const DATABASE = { DATABASE_URL: 'postgres://localhost/x' };

  it.each(['all', 'api'])('mode %s needs tenant authentication', (mode) => {
    expect(refusal([`--mode=${mode}`, '--worker-token=w'], DATABASE)).toMatch(
      `mode ${mode} needs --api-keys or --jwt-secret`,
    );
  });

  it.each(['all', 'api'])('mode %s needs a worker token', (mode) => {
    expect(refusal([`--mode=${mode}`, '--api-keys=k:t'], DATABASE)).toMatch(`mode ${mode} needs --worker-token`);
    expect(refusal([`--mode=${mode}`, '--jwt-secret=s'], DATABASE)).toMatch(`mode ${mode} needs --worker-token`);
  });

  it('mode worker needs neither', () => {
    expect(parse(['--mode=worker'], DATABASE)).toMatchObject({ mode: 'worker', workerToken: null });
  });

  it('--outbox needs the API, and the token of a tenant', () => {
    const outbox = '--outbox=postgres://h/app';
    expect(refusal([outbox, '--mode=worker'], DATABASE)).toMatch('--outbox needs the API');
    expect(refusal([outbox, '--api-keys=k:t', '--worker-token=w'], DATABASE)).toMatch('--outbox needs --outbox-token');
    expect(parse([outbox, '--dev'], DATABASE)).toMatchObject({ outbox: 'postgres://h/app', outboxToken: null });
  });

  it('takes keys, a JWT secret, or both', () => {
    expect(parse(['--jwt-secret=s', '--worker-token=w'], DATABASE).jwtSecret).toBe('s');
    expect(parse(['--api-keys=k:t', '--jwt-secret=s', '--worker-token=w'], DATABASE).apiKeys.get('k')).toBe('t');
  });

  it.each([
    ['--api-keys', 'MILLRACE_API_KEYS'],
    ['--read-keys', 'MILLRACE_READ_KEYS'],
    ['--admin-token', 'MILLRACE_ADMIN_TOKEN'],
    ['--jwt-secret', 'MILLRACE_JWT_SECRET'],
    ['--worker-token', 'MILLRACE_WORKER_TOKEN'],
  ])('an empty %s is a mistake in every mode, whichever way it came', (flag, variable) => {
    for (const mode of ['all', 'worker']) {
      for (const text of ['', '  ']) {
        const others = SERVING.filter((each) => !each.startsWith(flag));
        expect(refusal([...others, `--mode=${mode}`, `${flag}=${text}`])).toBe(`${flag} must not be empty`);
        expect(refusal([...others, `--mode=${mode}`], { [variable]: text })).toBe(`${variable} must not be empty`);
      }
    }
  });

  it.each([
    ['abc', '--api-keys entry 1 has no colon; entries are <token>:<tenant>'],
    ['tok:', '--api-keys entry 1 has an empty tenant; entries are <token>:<tenant>'],
    [':ten', '--api-keys entry 1 has an empty token; entries are <token>:<tenant>'],
    ['k:t,', '--api-keys entry 2 is empty; entries are <token>:<tenant>'],
    ['k:t,hush', '--api-keys entry 2 has no colon; entries are <token>:<tenant>'],
    [
      'k k:t',
      '--api-keys entry 1 has a token with spaces or characters that no header can carry; entries are <token>:<tenant>',
    ],
    [
      'k:t1,k:t2',
      '--api-keys entry 2 maps a token that already belongs to another tenant; entries are <token>:<tenant>',
    ],
  ])('api keys %j are refused', (text, line) => {
    expect(refusal([`--api-keys=${text}`, '--worker-token=w'], DATABASE)).toBe(line);
  });

  it('splits an api key at its first colon, trims, and takes the same entry twice', () => {
    const { apiKeys } = parse(['--api-keys=k:a:b, k2:c ,k2:c', '--worker-token=w'], DATABASE);
    expect([...apiKeys]).toEqual([
      ['k', 'a:b'],
      ['k2', 'c'],
    ]);
  });

  it('refuses a worker token that is also a tenant key', () => {
    expect(refusal(['--api-keys=same:t', '--worker-token=same'], DATABASE)).toMatch(/^--worker-token is also a token/);
  });

  it('is not satisfied by credentials that may only read', () => {
    expect(refusal(['--read-keys=r:t', '--worker-token=w'], DATABASE)).toMatch('needs --api-keys or --jwt-secret');
  });

  it('is not satisfied by the token of operators', () => {
    expect(refusal(['--admin-token=a', '--worker-token=w'], DATABASE)).toMatch('needs --api-keys or --jwt-secret');
    expect(refusal(['--admin-token=a', '--api-keys=k:t'], DATABASE)).toMatch('needs --worker-token');
    expect(parse(['--dev', '--admin-token=a'], {}).adminToken).toBeNull();
  });

  it('refuses a token that is in two lists', () => {
    expect(refusal(['--api-keys=same:t', '--read-keys=same:t', '--worker-token=w'], DATABASE)).toMatch(
      /^a token is in both --read-keys and --api-keys/,
    );
    expect(refusal(['--api-keys=k:t', '--read-keys=same:t', '--worker-token=same'], DATABASE)).toMatch(
      /^--worker-token is also a token of --read-keys/,
    );
    const tenants = ['--api-keys=k:t', '--read-keys=r:t', '--worker-token=w'];
    expect(refusal([...tenants, '--admin-token=k'], DATABASE)).toMatch(/^--admin-token is also a token of --api-keys/);
    expect(refusal([...tenants, '--admin-token=r'], DATABASE)).toMatch(/^--admin-token is also a token of --read-keys/);
    expect(refusal([...tenants, '--admin-token=w'], DATABASE)).toMatch(/^--admin-token is also the --worker-token/);
  });

  it('refuses a worker token that no header can carry', () => {
    expect(refusal(['--api-keys=k:t', '--worker-token=two words'], DATABASE)).toMatch(
      /^--worker-token must be visible ASCII/,
    );
  });

  it('never repeats a secret', () => {
    const lines = [
      refusal(['--api-keys=hush', '--worker-token=hush'], DATABASE),
      refusal(['--api-keys=hush:a,hush:b', '--worker-token=w'], DATABASE),
      refusal(['--api-keys=hush:a', '--worker-token=hush'], DATABASE),
      refusal(['--api-keys=k:t', '--worker-token=hush hush'], DATABASE),
      refusal([...SERVING.slice(0, 2), '--database-url=mysql://u:hush@h/d']),
      refusal([...SERVING.slice(0, 2), '--database-url=postgres://u:hush#x@h/d']),
      refusal([...SERVING, '--pooler=transaction', '--direct-database-url=mysql://u:hush@h/d']),
      refusal(['--api-keys', 'k:t', 'hush']),
      refusal(['--jwt-secert=hush']),
    ];
    expect(lines.filter((line) => line.includes('hush'))).toEqual([]);
  });
});

describe('the database address', () => {
  const database = (url: string): unknown => parse([...SERVING.slice(0, 2)], { DATABASE_URL: url }).database;

  it('may be embedded outside development mode', () => {
    expect(database('embedded:data/db')).toEqual({ kind: 'embedded', dir: resolve('data/db') });
    expect(database('embedded:/srv/db')).toEqual({ kind: 'embedded', dir: '/srv/db' });
  });

  it.each(['postgres://u@%2Frun%2Fpg/d', 'postgresql:///d?host=/run/pg', 'postgresql://u:p@/d?host=/run/pg'])(
    'may be a socket: %s',
    (url) => {
      expect(database(url)).toEqual({ kind: 'url', url });
    },
  );

  it.each([
    ['mysql://h/d', 'DATABASE_URL must begin with postgres://, postgresql:// or embedded:'],
    ['h:5432/d', 'DATABASE_URL must begin with postgres://, postgresql:// or embedded:'],
    ['embedded:', 'DATABASE_URL must name a directory after embedded:'],
    ['postgres://u:p#w@h/d', 'DATABASE_URL is not a valid URL; percent-encode special characters in the password'],
  ])('%s is refused', (url, line) => {
    expect(refusal(SERVING.slice(0, 2), { DATABASE_URL: url })).toBe(line);
  });

  it.each([{}, { DATABASE_URL: '' }])('is required outside development mode: %j', (env) => {
    expect(refusal(SERVING.slice(0, 2), env)).toMatch(/^no database: set DATABASE_URL/);
  });

  it('may be several, in the variable or by a flag each', () => {
    const urls = ['postgres://u:hush@a,b/d', 'postgresql://u@c/d', 'postgres://e/d'];
    for (const between of [',', ' ', ', ', '\n']) expect(database(urls.join(between))).toEqual({ kind: 'urls', urls });
    const config = parse([...SERVING.slice(0, 2), ...urls.map((url) => `--database-url=${url}`)]);
    expect(config.database).toEqual({ kind: 'urls', urls });
    expect(configSecrets(config)).toContain('hush');
  });

  const two = ['--database-url=postgres://a/d', '--database-url=postgres://b/d'];
  it.each([
    [['--database-url=postgres://a/d', '--database-url=mysql://u:hush@b/d'], 'must begin with postgres://'],
    [['--database-url=postgres://a/d', '--database-url=embedded:x'], 'must begin with postgres://'],
    [['--database-url=postgres://a/d', '--database-url='], '--database-url must not be empty'],
    [[...two, two[0]!], '--database-url names the same database twice (number 3)'],
    [[...two, '--pooler=transaction'], '--pooler is for one database'],
    [[...two, '--cells=list.json'], '--cells lists every database'],
    [[...two, '--cells=2'], '--cells needs a file'],
  ])('%j are refused', (flags, line) => {
    expect(refusal([...SERVING.slice(0, 2), ...flags])).toContain(line);
    expect(refusal([...SERVING.slice(0, 2), ...flags])).not.toContain('hush');
  });

  it('is all that a command on the database needs', () => {
    expect(parseDatabaseConfig([], { DATABASE_URL: 'postgres://h/d' }, PIPE)).toEqual({
      database: { kind: 'url', url: 'postgres://h/d' },
      pooler: 'none',
      directDatabaseUrl: null,
      logLevel: 'info',
      logFormat: 'json',
    });
  });
});

describe('a pooler', () => {
  it('may have a way around it, whose password is a secret too', () => {
    const config = parse([...SERVING, '--pooler=transaction', '--direct-database-url=postgres://u:hush@h/d']);
    expect(config).toMatchObject({ pooler: 'transaction', directDatabaseUrl: 'postgres://u:hush@h/d' });
    expect(configSecrets(config)).toContain('hush');
  });

  it.each([
    [[...SERVING, '--direct-database-url=postgres://h/d'], '--direct-database-url requires --pooler transaction'],
    [
      ['--dev', '--pooler=transaction'],
      '--pooler is for a database with a URL; the embedded one is always reached directly',
    ],
    [
      [...SERVING, '--pooler=transaction', '--direct-database-url=embedded:x'],
      '--direct-database-url must begin with postgres:// or postgresql://',
    ],
    [[...SERVING, '--pooler=session'], '--pooler must be one of none, transaction, not "session"'],
  ])('%j is refused', (argv, line) => {
    expect(refusal(argv)).toBe(line);
  });
});

it.each([
  ['all', ['echo', 'fail', 'log', 'sleep']],
  ['none', []],
  ['log', ['log']],
])('--builtin-tasks %s', (text, tasks) => {
  expect(parse([...SERVING, `--builtin-tasks=${text}`]).builtinTasks).toEqual(tasks);
});

describe('short credentials', () => {
  const warnings = (...argv: string[]): readonly string[] => credentialWarnings(parse([...SERVING.slice(2), ...argv]));
  const LONG = 'a-token-of-sixteen';

  it('are warned about, by name and not by value', () => {
    const found = warnings(
      `--api-keys=${LONG}:a,fifteen-letters:b,five5:c`,
      '--worker-token=hushhush',
      '--jwt-secret=s',
    );
    expect(found).toEqual([
      'token 2 of --api-keys is shorter than 16 characters and can be guessed',
      'token 3 of --api-keys is shorter than 16 characters and can be guessed; ' +
        'it is also too short to be scrubbed from log lines',
      '--worker-token is shorter than 16 characters and can be guessed',
      '--jwt-secret is shorter than 32 bytes, which HS256 needs to be hard to guess',
    ]);
  });

  it('of some length are not', () => {
    expect(warnings(`--api-keys=${LONG}:a`, `--worker-token=${LONG}2`, `--jwt-secret=${LONG}${LONG}`)).toEqual([]);
  });
});

it('describes every option with its variable and default', () => {
  const help = describeOptions();
  for (const option of Object.values(OPTIONS)) {
    expect(help).toMatch(new RegExp(`--${option.flag}[^\\n]*\\n[^\\n]*${option.env}, default: \\S`));
  }
  expect(help).toContain('MILLRACE_API_PORT, default: 8000');
});
