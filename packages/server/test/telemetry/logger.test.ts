import { describe, expect, it } from 'vitest';
import { createLogger, type LogOptions, type Logger } from '../../src/telemetry/logger.js';
import { growth, ONE_PASS } from '../support/cpu-time.js';
import { passwordOf, redactUrl } from '../../src/telemetry/redaction.js';

function capture(options: Partial<LogOptions> = {}): {
  log: Logger;
  text: () => string;
  lines: () => Record<string, unknown>[];
} {
  const written: string[] = [];
  const destination = { write: (line: string) => void written.push(line) };
  const log = createLogger({ level: 'info', format: 'json', destination, ...options });
  return {
    log,
    text: () => written.join(''),
    lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

describe('lines', () => {
  it('are JSON with the level by name and the time in RFC 3339', () => {
    const { log, lines } = capture();
    log.warn({ queue: 'mail' }, 'careful');
    expect(lines()).toEqual([
      {
        level: 'warn',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown,
        pid: process.pid,
        queue: 'mail',
        msg: 'careful',
      },
    ]);
  });

  it('below the level are not written', () => {
    const { log, text } = capture({ level: 'warn' });
    log.info('quiet');
    expect(text()).toBe('');
  });

  it('are readable in the pretty format', () => {
    const { log, text } = capture({ format: 'pretty' });
    log.info({ queue: 'mail' }, 'hello');
    expect(text()).toMatch(/INFO.*hello.*mail/);
    expect(() => JSON.parse(text()) as unknown).toThrow();
  });

  it('show an error and its cause, but not what a library attached to it', () => {
    const { log, lines } = capture();
    const cause = Object.assign(new Error('connection reset'), {
      code: 'ECONNRESET',
      client: { host: 'db', bulk: 'x'.repeat(99) },
    });
    log.error({ err: new Error('cannot read', { cause }) }, 'oh');
    expect(lines()[0]!.err).toMatchObject({
      type: 'Error',
      message: 'cannot read',
      cause: { message: 'connection reset', code: 'ECONNRESET' },
    });
    expect(JSON.stringify(lines())).not.toContain('bulk');
  });
});

describe('secrets', () => {
  const SECRET = 'hush-hush-hush';

  it.each([
    ['a header', { headers: { authorization: `Token ${SECRET}` } }],
    ['a header of a request', { req: { headers: { authorization: `Token ${SECRET}`, cookie: SECRET } } }],
    ['the configuration', { config: { apiKeys: SECRET, jwtSecret: SECRET, workerToken: SECRET } }],
    ['fields of the record itself', { password: SECRET, token: SECRET, lease_token: SECRET, leaseToken: SECRET }],
  ])('are censored by field name in %s', (_, fields) => {
    const { log, text } = capture();
    log.info(fields, 'hello');
    expect(text()).toContain('[redacted]');
    expect(text()).not.toContain(SECRET);
  });

  it.each([
    ['a connection URL in a message', `cannot reach postgres://app:${SECRET}@db:5432/x`],
    ['a connection URL with a password parameter', `postgres://db/x?user=app&password=${SECRET}&ssl=1`],
    ['a connection string', `host=db password=${SECRET} user=app`],
    ['a bearer token in a message', `refused "Authorization: Bearer ${SECRET}"`],
    ['a bearer token, whatever its case', `refused BEARER   ${SECRET}`],
  ])('are removed from %s', (_, message) => {
    for (const format of ['json', 'pretty'] as const) {
      const { log, text } = capture({ format });
      log.info(message);
      log.error({ err: new Error(message, { cause: new Error(message) }) }, 'failed');
      log.info({ anything: { deep: { down: [message] } } });
      expect(text()).not.toContain(SECRET);
    }
  });

  it.each(['plain-secret', 'quote"back\\slash', 'per cent%/?', 'ünïcode☃'])(
    'that are known are found wherever they occur: %s',
    (secret) => {
      const { log, text } = capture({ secrets: [secret] });
      log.info(`it is ${secret}!`);
      log.info({ some: { field: { of: [secret, encodeURIComponent(secret)] } } }, 'hello');
      log.error({ err: new Error(secret) });
      for (const form of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
        expect(text()).not.toContain(form);
    },
  );

  const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhY21lIn0.c2lnbmF0dXJlLW9mLXNvbWUtbGVuZ3Ro';

  it.each([
    ['in a message', (log: Logger) => log.info(`cannot use ${JWT} here`)],
    ['in a field', (log: Logger) => log.info({ url: `/x?access=${JWT}&y=1`, list: [JWT] }, 'hello')],
    ['in a key of what a caller sent', (log: Logger) => log.info({ payload: { [JWT]: 1 } }, 'hello')],
    ['without a signature', (log: Logger) => log.info(`${JWT.split('.').slice(0, 2).join('.')}.`)],
  ])('that look like a JWT are cut out %s', (_what, write) => {
    const { log, text, lines } = capture();
    write(log);
    expect(text()).toContain('[redacted]');
    expect(text()).not.toContain('eyJhbGci');
    expect(lines()).toHaveLength(1);
  });

  it.each(['message', 'payload', 'warning', 'timestamp', 'stacks'])(
    'leave the keys, the level and the time alone, even if one is called %s',
    (secret) => {
      const { log, lines } = capture({ secrets: [secret, 'time', 'warn', '2026'] });
      log.warn({ [secret]: `it is ${secret}`, err: new Error(secret) }, `is ${secret} in it?`);
      expect(lines()[0]).toMatchObject({
        level: 'warn',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown,
        msg: 'is [redacted] in it?',
        err: { type: 'Error', message: '[redacted]' },
      });
      expect(lines()[0]).toHaveProperty(secret);
    },
  );

  it('leave the rest of the line unchanged, and valid JSON', () => {
    const { log, lines } = capture({ secrets: ['quote"back\\slash'] });
    log.info({ url: 'postgres://app:pw@db:5432/x', n: 1 }, 'say quote"back\\slash, any bearer token will do');
    expect(lines()[0]).toMatchObject({
      url: 'postgres://app:[redacted]@db:5432/x',
      n: 1,
      msg: 'say [redacted], any bearer token will do',
    });
  });
});

describe('what callers sent', () => {
  const PASSWORD = 'hunter2-and-more';
  const LENGTH = 64 * 1024;

  // A pattern that tries every start with every end would take ten seconds at this length, and days for a whole body.
  it.each([
    'x',
    '://',
    '://a:',
    'a://b:c',
    'bearer ',
    'bearer',
    '?password=',
    ' ',
    'x.y-z+',
    '-eyJ',
    'eyJa.',
    '.eyJa.b',
  ])('is scrubbed in one pass, however long it is: %j', (piece) => {
    const { log, text } = capture({ secrets: [PASSWORD] });
    const write = (length: number): void =>
      log.info({ payload: piece.repeat(length / piece.length) }, `the end is postgres://u:${PASSWORD}@h`);
    expect(growth(LENGTH, write)).toBeLessThan(ONE_PASS);
    expect(text()).not.toContain(PASSWORD);
  });
});

describe('a connection URL', () => {
  it.each([
    ['postgres://u:p@h/d', 'postgres://u:***@h/d'],
    ['postgresql://u:p%40ss@h:1/d?x=1', 'postgresql://u:***@h:1/d?x=1'],
    ['postgres://u@h/d', 'postgres://u@h/d'],
    ['postgres://h/d?password=p&x=1', 'postgres://h/d?password=***&x=1'],
    ['postgres://u:p:q/r@h/d', 'postgres://u:***@h/d'],
    ['a://u:p@h b://v:q@i', 'a://u:***@h b://v:***@i'],
    ['http://h:80/x then a://u:p@h', 'http://h:80/x then a://u:***@h'],
    ['http://h/ "a://u:p@h"', 'http://h/ "a://u:***@h"'],
  ])('%s is shown as %s', (url, shown) => {
    expect(redactUrl(url)).toBe(shown);
  });

  it.each([
    ['postgres://u:p%40ss@h/d', 'p@ss'],
    ['postgres://u@h/d', null],
    ['postgres://u:%zz@h/d', '%zz'],
  ])('%s has the password %s', (url, password) => {
    expect(passwordOf(url)).toBe(password);
  });
});
