import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyName, memberText, memberSpans, rootOf, textOf, type JsonSpan } from '../../../src/lib/json/spans.js';

/** Puts a text together again from its spans, through the functions under test only. */
function rebuild(text: string, span: JsonSpan): unknown {
  if (span.kind === 'array') return [...memberSpans(text, span)].map(({ value }) => rebuild(text, value));
  if (span.kind === 'object') {
    const entries = [...memberSpans(text, span)].map(({ key, value }) => [keyName(key!), rebuild(text, value)]);
    return Object.fromEntries(entries);
  }
  return JSON.parse(textOf(text, span));
}

describe('spans of a JSON text', () => {
  it('hold every value of any JSON, however it is spaced', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = ` ${JSON.stringify(value, null, space)}\n`;
        expect(rebuild(text, rootOf(text)!)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('keep numbers as they were written', () => {
    const text = '{"id": 9007199254740993, "amount": 1.10, "tiny": 1E-7, "list": [-0.0, 1e400]}';
    expect(memberText(text, 'id')).toBe('9007199254740993');
    expect(memberText(text, 'amount')).toBe('1.10');
    expect(memberText(text, 'tiny')).toBe('1E-7');
    expect(memberText(text, 'list', 0)).toBe('-0.0');
    expect(memberText(text, 'list', 1)).toBe('1e400');
  });

  it('find a member by its name, however its key is escaped, and nothing where there is nothing', () => {
    const text = String.raw`{"a\u0062c": {"\"": "quoted \\"}, "x": [1, {"y": null}]}`;
    expect(memberText(text, 'abc', '"')).toBe(String.raw`"quoted \\"`);
    expect(memberText(text, 'x', 1, 'y')).toBe('null');
    expect(memberText(text, 'x', 7)).toBeUndefined();
    expect(memberText(text, 'nothing', 'here')).toBeUndefined();
    expect(memberText('  ', 'x')).toBeUndefined();
  });

  it('take a text that is nested a hundred thousand deep', () => {
    const depth = 100_000;
    const text = `{"deep": ${'['.repeat(depth)}${']'.repeat(depth)}, "after": 1}`;
    expect(memberText(text, 'deep')).toHaveLength(2 * depth);
    expect(memberText(text, 'after')).toBe('1');
  });

  it('end, whatever the text is', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', ' ', '1', 'a') }),
        (text) => {
          const root = rootOf(text);
          if (root === null) return;
          for (const { value } of memberSpans(text, root)) expect(value.end).toBeLessThanOrEqual(text.length);
        },
      ),
    );
  });
});
