import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OPAQUE, readJson, readJsonInSteps, readOutline, SCALAR, type Part } from '../../src/domain/json-outline.js';
import { atOnce } from '../../src/domain/steps.js';
import { checkRest, checkStep, checkValue, INVALID, PAUSED, TOO_DEEP } from '../../src/domain/json-syntax.js';
import { cases } from '../support/cases.js';
import { jsonString, jsonValue, space } from '../support/json-texts.js';

/** The text with some of its characters removed, replaced or added: most of the results are no JSON, some are. */
const edit = fc.record({
  at: fc.nat(),
  removed: fc.nat({ max: 2 }),
  added: fc.oneof(
    fc.constantFrom('', ',', ':', '"', '{', '}', '[', ']', '\\', '0', '-', '.', 'e', '+', '1', 'true', ' ', '\u0000'),
    fc.string({ unit: 'binary', maxLength: 2 }),
  ),
});
const broken = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(text, fc.array(edit, { minLength: 1, maxLength: 3 })).map(([whole, edits]) =>
    edits.reduce((before, { at, removed, added }) => {
      const position = at % (before.length + 1);
      return before.slice(0, position) + added + before.slice(position + removed);
    }, whole),
  );

const NO_JSON = { kind: 'invalid' };

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** Without white space around it, which is not a part of the value. */
const isChecked = (text: string): boolean => {
  const trimmed = text.replaceAll(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');
  return checkValue(trimmed, 0, 0) === trimmed.length && trimmed !== '';
};

describe('checkValue', () => {
  it('accepts what JSON.parse accepts, and nothing else', () => {
    const texts = fc.oneof(jsonValue, broken(jsonValue), broken(broken(jsonValue)), fc.string({ maxLength: 12 }));
    fc.assert(
      fc.property(texts, (text) => {
        expect([text, isChecked(text)]).toEqual([text, isJson(text)]);
      }),
      { numRuns: cases(2000) },
    );
  });

  it.each(['01', '-', '-01', '1.', '.5', '1e', '1e+', '+1', 'NaN', 'Infinity', 'tru', 'nulll', 'True', "'a'"])(
    'refuses %s',
    (text) => expect(isChecked(text)).toBe(false),
  );

  it.each([
    '"\\x"',
    '"\\u12g4"',
    '"\\u123"',
    '"a',
    '"\t"',
    '"\u0000"',
    '[1 2]',
    '[1,]',
    '[,1]',
    '{"a"}',
    '{"a":1,}',
    '{1:2}',
    '[}',
    '{]',
  ])('refuses %j', (text) => expect(isChecked(text)).toBe(false));

  it('knows where a value ends', () => {
    expect(checkValue('[1, {"a": "]"}] , 2', 0, 0)).toBe(15);
    expect(checkValue('7,8', 0, 0)).toBe(1);
    expect(checkValue('', 0, 0)).toBe(INVALID);
  });

  it('goes a thousand levels deep, and no deeper', () => {
    const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    expect(checkValue(nested(1000), 0, 0)).toBe(2000);
    expect(checkValue(nested(1001), 0, 0)).toBe(TOO_DEEP);
    expect(checkValue(nested(1000), 0, 1)).toBe(TOO_DEEP);
  });
});

const JOB: Part = {
  kind: 'object',
  members: new Map<string, Part>([
    ['task_name', SCALAR],
    ['payload', OPAQUE],
    ['config', { kind: 'object', members: new Map([['queue', SCALAR]]) }],
    ['tags', { kind: 'list', items: SCALAR, most: 3 }],
  ]),
};
const BATCH: Part = {
  kind: 'object',
  members: new Map<string, Part>([
    ['jobs', { kind: 'list', items: JOB, most: 2 }],
    ['name', SCALAR],
  ]),
};

/** What an outline says of a value: the value, without what its part does not look into. */
function outlined(value: unknown, part: Part): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    if (part.kind !== 'list') return [];
    return value.slice(0, part.most + 1).map((item) => outlined(item, part.items));
  }
  if (part.kind !== 'object') return {};
  const members = Object.entries(value).map(([key, inner]) => [key, outlined(inner, part.members.get(key) ?? OPAQUE)]);
  return Object.fromEntries(members) as unknown;
}

describe('readOutline', () => {
  const names = [
    'task_name',
    'payload',
    'config',
    'tags',
    'jobs',
    'name',
    'queue',
    'zzz',
    '__proto__',
    'task\\u005fname',
  ];
  const key = fc.oneof(
    fc.constantFrom(...names).map((name) => `"${name}"`),
    jsonString,
  );
  const objectOf = (value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc
      .tuple(fc.array(fc.tuple(space, key, space, space, value, space), { maxLength: 5 }), space)
      .map(
        ([members, blank]) => `{${members.map(([a, k, b, c, v, d]) => `${a}${k}${b}:${c}${v}${d}`).join() || blank}}`,
      );
  const listOf = (value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc.tuple(fc.array(value, { maxLength: 5 }), space).map(([items, blank]) => `[${items.join() || blank}]`);
  const job = objectOf(fc.oneof(jsonValue, objectOf(jsonValue), listOf(jsonValue)));
  const document = fc
    .tuple(space, objectOf(fc.oneof(jsonValue, listOf(fc.oneof(job, jsonValue)), job)), space)
    .map((parts) => parts.join(''));

  it.each([
    ['a job', JOB],
    ['a batch', BATCH],
  ])('is the document without what is not looked into, or says that it is no JSON: %s', (_what, part) => {
    fc.assert(
      fc.property(fc.oneof(document, broken(document)), (text) => {
        const read = readOutline(text, part);
        expect(read).toEqual(isJson(text) ? { kind: 'read', value: outlined(JSON.parse(text), part) } : NO_JSON);
      }),
      { numRuns: cases(400) },
    );
  });

  it('keeps the first unknown members, and drops the many that may follow', () => {
    const many = Array.from({ length: 1000 }, (_, n) => `"u${n}":{"a":[]}`).join();
    for (const text of [
      `{${many},"task_name":"t"}`,
      `{"task_name":"t",${many}}`,
      `{"config":{${many}},"task_name":"t"}`,
    ]) {
      const read = readOutline(text, JOB) as { value: { task_name: string; config?: object } };
      expect(read.value.task_name).toBe('t');
      const unknown = Object.keys(read.value.config ?? read.value).filter((name) => name.startsWith('u'));
      expect(unknown.length).toBeGreaterThan(20);
      expect(unknown.length).toBeLessThan(70);
      expect(unknown[0]).toBe('u0');
    }
  });

  it('refuses members that come again and again with more than any reader could need', () => {
    const again = `{${Array(1000).fill('"config":{}').join()}}`;
    expect(readOutline(again, JOB)).toEqual({ kind: 'too many containers' });
  });

  it('refuses what is nested too deeply, wherever it is', () => {
    const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    for (const name of ['payload', 'zzz', 'task_name', 'tags', 'config']) {
      expect(readOutline(`{"${name}":${deep(999)}}`, JOB).kind).toBe('read');
      expect(readOutline(`{"${name}":${deep(1000)}}`, JOB).kind).toBe('too deep');
    }
  });
});

describe('a check in steps', () => {
  it('comes to the same end, wherever it pauses', () => {
    const inSteps = (text: string, step: number): number => {
      const end = checkStep(text, 0, 0, step);
      if (end !== PAUSED) return end;
      const rest = checkRest(text, step);
      // Another check, while this one pauses.
      for (let next = rest.next(); ; next = rest.next()) {
        if (next.done === true) return next.value;
        checkValue('[{"a":[[]]}]', 0, 0);
      }
    };
    fc.assert(
      fc.property(fc.oneof(jsonValue, broken(jsonValue)), fc.integer({ min: 1, max: 20 }), (text, step) => {
        expect(inSteps(text, step)).toBe(checkValue(text, 0, 0));
      }),
      { numRuns: cases(500) },
    );
  });
});

describe('readJsonInSteps', () => {
  it('pauses within a single value', () => {
    const text = `{"jobs":[],"zzz":[${Array(1_000_000).fill('{}').join()}]}`;
    const steps = readJsonInSteps(text, () => BATCH);
    let pauses = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) pauses++;
    expect(pauses).toBeGreaterThan(5);
    expect(step.value).toEqual({ kind: 'read', value: { jobs: [], zzz: [] } });
  });

  it('reads the same, and pauses between the items of a long text', () => {
    const item = `{"task_name":"t","payload":{"a":[${Array(500).fill('{}').join()}]}}`;
    const text = `{"jobs":[${Array(1_000).fill(item).join()}]}`;
    const steps = readJsonInSteps(text, () => BATCH);
    let pauses = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) pauses++;
    expect(pauses).toBeGreaterThan(2);
    expect(step.value).toEqual(readJson(text, () => BATCH));
    expect(atOnce(readJsonInSteps('{"a":1}', () => BATCH))).toEqual({ kind: 'read', value: { a: 1 } });
  });
});

describe('readJson', () => {
  /** About a megabyte each: what JSON.parse takes longest for, and what looks like it. */
  const dense: readonly (readonly [what: string, value: string])[] = [
    ['empty objects', `[${Array(350_000).fill('{}').join()}]`],
    ['nested lists', `[${Array(116_000).fill('[[[{}]]]').join()}]`],
    ['names', `{${Array.from({ length: 90_000 }, (_, n) => `"k${n}":1`).join()}}`],
    ['objects of one name each', `[${Array.from({ length: 80_000 }, (_, n) => `{"k${n}":1}`).join()}]`],
  ];

  it.each(dense)('makes nothing of what nobody looks into: %s', (_what, value) => {
    for (const name of ['payload', 'zzz', 'config', 'tags', 'task_name']) {
      const read = readJson(`{"task_name":"t","${name}":${value}}`, () => JOB) as { value: object };
      expect(JSON.stringify(read.value).length).toBeLessThan(2_000);
    }
  });
});
