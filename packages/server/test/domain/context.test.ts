import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeResults, parsePayload, withContext, type StepResult } from '../../src/domain/context.js';
import { cases } from '../support/cases.js';

const merge = (
  context: string,
  results: readonly [name: string, result: string][],
  completed: readonly string[] = [],
): string =>
  mergeResults(
    context,
    results.map(([name, result]) => ({ name, result })),
    completed,
  );

describe('merging results into the context', () => {
  it('takes the keys of a result, and the whole result under the name of its step', () => {
    expect(merge('{"start":1}', [['a', '{"x":2}']])).toBe('{"start":1,"x":2,"a":{"x":2}}');
  });

  it('lets later completions win', () => {
    const merged = merge('{"x":0}', [
      ['a', '{"x":1}'],
      ['b', '{"x":2}'],
    ]);
    expect(merged).toBe('{"x":2,"a":{"x":1},"b":{"x":2}}');
  });

  it.each([
    [
      'the step completes first',
      [
        ['a', '{"v":1}'],
        ['b', '{"a":"key"}'],
      ],
      '{"v":1,"a":{"v":1},"b":{"a":"key"}}',
    ],
    [
      'the key comes first',
      [
        ['b', '{"a":"key"}'],
        ['a', '{"v":1}'],
      ],
      '{"a":{"v":1},"b":{"a":"key"},"v":1}',
    ],
    ['a step writes its own name', [['a', '{"a":"key"}']], '{"a":{"a":"key"}}'],
  ] as const)('lets step names win over keys: %s', (_, results, expected) => {
    expect(JSON.parse(merge('{}', [...results] as [string, string][]))).toEqual(JSON.parse(expected));
  });

  it('lets the name of a step that completed earlier win over a key', () => {
    expect(merge('{"a":{"v":1}}', [['b', '{"a":"key"}']], ['a'])).toBe('{"a":{"v":1},"b":{"a":"key"}}');
    expect(merge('{"a":"from the start"}', [['b', '{"a":"key"}']])).toBe('{"a":"key","b":{"a":"key"}}');
  });

  it('never takes _context from a result', () => {
    expect(merge('{}', [['a', '{"x":1.0,"_context":{"y":2}}']])).toBe('{"x":1.0,"a":{"x":1.0}}');
    expect(merge('{"_context":"the caller\'s"}', [['a', '{"\\u005fcontext":{"y":2}}']])).toBe(
      '{"_context":"the caller\'s","a":{}}',
    );
  });

  it('grows only by what is new along a chain of steps that return their payload', () => {
    let context = '{}';
    const sizes: number[] = [];
    for (let n = 0; n < 100; n++) {
      context = merge(context, [[`step${n}`, withContext(`{"n":${n}}`, context)]]);
      sizes.push(context.length);
    }
    expect(sizes[99]! / sizes[9]!).toBeLessThan(15);
  });

  it('keeps numbers and escapes as written', () => {
    const result = '{"big":12345678901234567890,"exact":1.10,"e":1E400,"s":"\\u00e9\\/"}';
    expect(merge('{"first":-0.0}', [['a', result]])).toBe(
      `{"first":-0.0,"big":12345678901234567890,"exact":1.10,"e":1E400,"s":"\\u00e9\\/","a":${result}}`,
    );
  });

  it('keeps keys that are special in JavaScript', () => {
    const merged = merge('{}', [['__proto__', '{"__proto__":1,"constructor":2,"7":3}']]);
    expect(merged).toBe('{"__proto__":{"__proto__":1,"constructor":2,"7":3},"constructor":2,"7":3}');
  });

  it('leaves the text unchanged if nothing completed', () => {
    expect(merge('{ "a" : 1.0 }', [])).toBe('{ "a" : 1.0 }');
  });

  it('gives the same context in one merge or in several', () => {
    const value = fc.oneof(fc.integer(), fc.constantFrom('x', 'y'));
    const result = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'k', 'l', '_context'), value);
    const completions = fc
      .shuffledSubarray(['a', 'b', 'c', 'd'])
      .chain((names) => fc.tuple(...names.map((name) => fc.tuple(fc.constant(name), result))));
    fc.assert(
      fc.property(result, completions, fc.nat({ max: 4 }), (context, list, cut) => {
        const results: StepResult[] = list.map(([name, result]) => ({ name, result: JSON.stringify(result) }));
        const start = JSON.stringify(context);
        const before = results.slice(0, cut);
        const half = mergeResults(start, before, []);
        const twice = mergeResults(
          half,
          results.slice(cut),
          before.map(({ name }) => name),
        );
        const once = mergeResults(start, results, []);
        expect(JSON.parse(twice)).toEqual(JSON.parse(once));
        expect(JSON.parse(once)).toEqual(plain(context, list));
      }),
      { numRuns: cases(500) },
    );
  });
});

/** The rules again, over plain objects: keys in order of completion, then step names over everything. */
function plain(context: object, list: readonly (readonly [string, object])[]): object {
  const merged: Record<string, unknown> = { ...context };
  const stripped = list.map(([name, result]) => {
    const { _context, ...rest } = result as Record<string, unknown>;
    return [name, rest] as const;
  });
  for (const [, result] of stripped) Object.assign(merged, result);
  for (const [name, result] of stripped) merged[name] = result;
  return merged;
}

describe('the payload of a step', () => {
  it('has the context beside its own keys', () => {
    expect(withContext('{"a":1.0}', '{"x":2}')).toBe('{"a":1.0,"_context":{"x":2}}');
  });

  it('has a context even if it is empty', () => {
    expect(withContext('{}', '{}')).toBe('{"_context":{}}');
  });

  it('loses its own key of that name, however it is escaped', () => {
    expect(withContext('{"_context":"mine","b":2}', '{}')).toBe('{"b":2,"_context":{}}');
    expect(withContext('{"\\u005fcontext":"mine"}', '{"y":1}')).toBe('{"_context":{"y":1}}');
  });

  it.each(['short', 'x'.repeat(100_000)])('is an object with the context beside its own keys, however long', (text) => {
    const payload = parsePayload('{"a":1}', JSON.stringify({ text }));
    expect(Object.keys(payload)).toEqual(['a', '_context']);
    expect(JSON.stringify(payload) === JSON.stringify({ a: 1, _context: { text } })).toBe(true);
    const context = payload._context as { text: string };
    context.text = 'mine';
    expect(payload._context).toBe(context);
    expect({ ...payload }).toEqual({ a: 1, _context: { text: 'mine' } });
    payload._context = 'replaced';
    expect(payload).toEqual({ a: 1, _context: 'replaced' });
    expect(Object.keys(Object.freeze(payload))).toEqual(['a', '_context']);
  });

  it('is parsed without a long context until somebody looks at it', () => {
    // Not JSON: so that it is known when it is parsed.
    const payload = parsePayload('{"a":1}', 'x'.repeat(100_000));
    expect(payload.a).toBe(1);
    expect(() => payload._context).toThrow(SyntaxError);
  });
});
