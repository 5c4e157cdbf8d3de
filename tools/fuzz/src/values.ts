import type { Random } from '@millrace/tools-shared';
import { RawText, type Json } from './json.js';

/** Texts that have broken other programs. */
const TEXTS: readonly string[] = [
  '',
  ' ',
  '\t\r\n',
  '0',
  'null',
  'true',
  'NaN',
  '-1',
  '\0',
  'a\0b',
  '\ud800',
  'x\udfffy',
  '\ufeff',
  '\u2028\u2029',
  '\u202e abc',
  'e\u0301\u0327',
  '😀'.repeat(255),
  '😀'.repeat(256),
  'İıß',
  "'; DROP TABLE jobs; --",
  '" OR 1=1 --',
  '$1',
  '\\',
  '\\u0000',
  '%s%n%x',
  '%00',
  '../../../../etc/passwd',
  '${jndi:ldap://127.0.0.1/a}',
  '{{7*7}}',
  '<script>alert(1)</script>',
  ']]>',
  'a"]:::x --> b["',
  'end',
  'graph TD\n  x --> y',
  'line\r\nX-Injected: 1',
  'data: x\n\nevent: status',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'x'.repeat(255),
  'x'.repeat(256),
  'x'.repeat(10_000),
  '(a+)+$',
  '2026-02-30T00:00:00Z',
  '9999-12-31T23:59:59.999999999Z',
  '0000-01-01T00:00:00Z',
  '+275760-09-13T00:00:00Z',
  '2026-01-01T00:00:00+99:99',
  '2026-01-01 00:00:00',
  'infinity',
  '* * * * * *',
  '*/0 * * * *',
  '0 0 30 2 *',
  '@reboot',
  '0-59/1,0-59/1,0-59/1 * * * *',
  '99999999999999999999 * * * *',
  'millrace:cron:x',
  '00000000-0000-0000-0000-000000000000',
  '{"lease_token":1}',
];

const NUMBERS: readonly string[] = [
  '0',
  '-0',
  '-1',
  '1',
  '1.5',
  '100',
  '101',
  '1000',
  '1001',
  '3600',
  '86401',
  '2147483647',
  '2147483648',
  '-2147483649',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775809',
  '123456789012345678901234567890123456789',
  '1e3',
  '1E400',
  '-1e400',
  '1e-400',
  '5e-324',
  '0.1000000000000000055511151231257827',
  `1${'0'.repeat(5_000)}`,
];

const OTHERS: readonly Json[] = [null, true, false, [], {}, [null], [[]], { '': null }, ['x'], { a: { b: [1] } }];

/** Not JSON at all, in place of a value. */
const NONSENSE: readonly string[] = [
  'NaN',
  'Infinity',
  'undefined',
  '01',
  '+1',
  '.5',
  "'x'",
  '0x10',
  '1_000',
  '"\t"',
  '"\\x41"',
  '"\\u12"',
  '[1,]',
  '{a:1}',
  '/* */1',
];

export const oddText = (random: Random): string => random.pick(TEXTS);

export function oddValue(random: Random): Json {
  const choice = random.below(10);
  if (choice < 4) return oddText(random);
  if (choice < 7) return new RawText(random.pick(NUMBERS));
  if (choice < 9) return random.pick(OTHERS);
  return new RawText(random.pick(NONSENSE));
}

/** What a well-behaved caller would store: any kind of JSON value, and the mark of its tenant. */
export function plainObject(random: Random, mark: string): Json {
  const members: Record<string, Json> = { mark };
  for (let i = random.below(4); i > 0; i--) {
    members[random.word(3)] = random.pick<Json>([
      random.below(1000),
      random.next(),
      random.word(),
      `ü€😀 ${mark}`,
      true,
      null,
      [1, 'two', { three: [] }],
      {},
      new RawText('12345678901234567890.123'),
    ]);
  }
  return members;
}

/** Nested so deeply that a recursive parser would run out of stack. */
export function deepValue(random: Random): Json {
  const depth = random.pick([10, 500, 998, 1000, 1001, 5_000, 100_000]);
  return random.chance(0.5)
    ? new RawText('['.repeat(depth) + ']'.repeat(depth))
    : new RawText('{"a":'.repeat(depth) + '1' + '}'.repeat(depth));
}

/** Larger than anybody would send; the largest exceed what the server accepts. */
export function largeValue(random: Random, maxBytes: number): Json {
  const size = random.pick([20_000, 100_000, maxBytes / 2, maxBytes, maxBytes * 1.2]);
  switch (random.below(4)) {
    case 0:
      return 'x'.repeat(size);
    case 1:
      return new RawText(`[${'0,'.repeat(size / 2)}0]`);
    case 2:
      return new RawText(`{${Array.from({ length: size / 20 }, (_, i) => `"key${i}":1`).join(',')}}`);
    default:
      return new RawText(`"${'\\u20ac'.repeat(size / 6)}"`);
  }
}

/** What takes a parser longest: far more objects, lists and names than bytes would suggest. */
export function denseValue(random: Random, maxBytes: number): Json {
  const size = random.pick([10_000, 30_000, 200_000, maxBytes / 2]);
  const times = (text: string): string => Array.from({ length: size / (text.length + 1) }, () => text).join(',');
  const named = (write: (n: number) => string): string =>
    Array.from({ length: size / 12 }, (_, n) => write(n)).join(',');
  return new RawText(
    random.pick([
      () => `[${times('{}')}]`,
      () => `[${times('[[[{}]]]')}]`,
      () => `{${named((n) => `"k${n}":1`)}}`,
      () => `[${named((n) => `{"k${n}":1}`)}]`,
      () => `{${times('"task_name":{}')}}`,
      () => `{"a":[${times('{}')}`,
    ])(),
  );
}
