import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { objectText, withMembers, withoutMember } from '../../src/domain/json-members.js';
import { eachMemberAt, fieldsOfItems, nestingDepth, rawFields, rawFieldsOfEach } from '../../src/domain/raw-json.js';
import { atOnce } from '../../src/domain/steps.js';
import { cases } from '../support/cases.js';
import { growth, ONE_PASS } from '../support/cpu-time.js';
import { jsonString, jsonValue, space } from '../support/json-texts.js';

/** Spellings of the same key. */
const NAMES = ['payload', 'metadata', 'result'] as const;
const key = fc.oneof(
  jsonString,
  fc.constantFrom('"payload"', '"metadata"', '"result"', '"\\u0070ayload"', '"pay\\u006Coad"', '"\\u006detadata"'),
);

const document = fc
  .tuple(space, fc.array(fc.tuple(space, key, space, space, jsonValue, space), { maxLength: 6 }), space, space)
  .map(
    ([before, fields, blank, after]) =>
      `${before}{${fields.map(([a, k, b, c, v, d]) => `${a}${k}${b}:${c}${v}${d}`).join(',') || blank}}${after}`,
  );

describe('rawFields', () => {
  it('finds the text that JSON.parse would have read, in any document', () => {
    fc.assert(
      fc.property(document, (text) => {
        const parsed = JSON.parse(text) as Record<string, unknown>;
        const found = rawFields(text, NAMES);
        NAMES.forEach((name, i) => {
          expect(Object.hasOwn(parsed, name)).toBe(found[i] !== undefined);
          if (found[i] !== undefined) {
            expect(text).toContain(found[i]);
            expect(found[i]).toBe(found[i].trim());
            expect(JSON.parse(found[i])).toEqual(parsed[name]);
          }
        });
      }),
      { numRuns: cases(2000) },
    );
  });

  it.each([
    ['{}', undefined],
    [' { } ', undefined],
    ['{"payload":{}}', '{}'],
    ['{"payload":12345678901234567890}', '12345678901234567890'],
    ['{"a":"payload","payload" : [1 , 2] }', '[1 , 2]'],
    ['{"payload":1,"payload":2}', '2'],
    ['{"x":{"payload":1},"payload":"}"}', '"}"'],
    ['{"\\u0070ayload":true}', 'true'],
    ['{"a\\"payload":1}', undefined],
    ['{"a\\\\":1,"payload":null}', 'null'],
    ['{"payload":"\\\\\\""}', '"\\\\\\""'],
  ])('%s', (text, expected) => {
    expect(rawFields(text, ['payload'])).toEqual([expected]);
  });

  it('is not slow on input that is made to slow it down', () => {
    const made = (size: number): string => `{"a":"${'\\\\'.repeat(size)}","payload":{"s":"${'\\"'.repeat(size)}"}}`;
    expect(rawFields(made(500_000), ['payload'])[0]).toHaveLength(1_000_008);
    const texts = new Map([20_000, 320_000].map((size) => [size, made(size)]));
    expect(growth(320_000, (size) => void rawFields(texts.get(size)!, ['payload']))).toBeLessThan(ONE_PASS);
  });
});

describe('rawFieldsOfEach', () => {
  it('finds in each object of an array what it would find in the object alone', () => {
    const array = fc
      .tuple(fc.array(document, { maxLength: 6 }), space)
      .map(([items, blank]) => ({ items, text: ` [${items.join(',') || blank}] ` }));
    fc.assert(
      fc.property(array, ({ items, text }) => {
        expect(rawFieldsOfEach(text, NAMES)).toEqual(items.map((item) => rawFields(item, NAMES)));
      }),
      { numRuns: cases(1000) },
    );
  });
});

describe('fieldsOfItems', () => {
  it('finds in the last list of a name what it would find in each of its objects alone, in one walk', () => {
    const items = fc.array(document, { maxLength: 6 });
    const object = fc.tuple(items, items, document, space).map(([first, last, other, blank]) => ({
      last,
      text: `${blank}{"jobs":[${first.join(',')}],${blank}"payload":${other},"jobs"${blank}:[${last.join(',') || blank}]}`,
    }));
    fc.assert(
      fc.property(object, ({ last, text }) => {
        expect(atOnce(fieldsOfItems(text, 'jobs', NAMES))).toEqual(last.map((item) => rawFields(item, NAMES)));
      }),
      { numRuns: cases(1000) },
    );
  });

  it('pauses within a long list or value, and finds nothing where there is none', () => {
    const text = `{"jobs":[${Array(3_000)
      .fill(`{"payload":{"s":"${'x'.repeat(1_000)}"}}`)
      .join(',')}]}`;
    const steps = fieldsOfItems(text, 'jobs', NAMES);
    let pauses = 0;
    while (steps.next().done !== true) pauses++;
    expect(pauses).toBeGreaterThan(3);
    const beside = `{"zzz":{"a":[${Array(1_000_000).fill('"]"').join()}]},"jobs":[{"payload":7}]}`;
    const walk = fieldsOfItems(beside, 'jobs', NAMES);
    let step = walk.next();
    for (pauses = 0; step.done !== true; step = walk.next()) pauses++;
    expect(pauses).toBeGreaterThan(5);
    expect(step.value).toEqual([['7', undefined, undefined]]);
    for (const none of ['{}', '{"jobs":[]}', '{"jobs":null}', '{"other":[{"payload":1}]}'])
      expect(atOnce(fieldsOfItems(none, 'jobs', NAMES))).toEqual([]);
  });
});

describe('nestingDepth', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;

  it('is the depth of the value', () => {
    const value = fc.jsonValue({ maxDepth: 5, noUnicodeString: false });
    fc.assert(
      fc.property(value, (json) => {
        expect(nestingDepth(JSON.stringify(json))).toBe(depthOf(json));
      }),
    );
  });
});

describe('withoutMember', () => {
  it('leaves out one member, and the rest as it was sent', () => {
    fc.assert(
      fc.property(document, (text) => {
        const { payload: _payload, ...others } = JSON.parse(text) as Record<string, unknown>;
        const rest = withoutMember(text, 'payload');
        expect(JSON.parse(rest)).toEqual(others);
        expect(rest === text).toBe(rawFields(text, ['payload'])[0] === undefined);
        eachMemberAt(rest, (_text, _start, _end, start, end) => expect(text).toContain(rest.slice(start, end)));
      }),
      { numRuns: cases(1000) },
    );
  });
});

describe('withMembers', () => {
  it('adds members at the end, in the place of those that were there', () => {
    fc.assert(
      fc.property(document, (text) => {
        const added = withMembers(text, [
          ['payload', '1.10'],
          ['result', '[2]'],
        ]);
        expect(JSON.parse(added)).toEqual({ ...(JSON.parse(text) as object), payload: 1.1, result: [2] });
        expect(added.endsWith(`${objectText([['payload', '1.10']]).slice(1, -1)},"result":[2]}`)).toBe(true);
      }),
      { numRuns: cases(1000) },
    );
  });
});
