import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isInstant, parseInstant, parseQueryInstant } from '../../src/rules/instant.js';

const two = (value: number): string => String(value).padStart(2, '0');
const instant = fc.record({
  at: fc.date({ min: new Date('0002-01-01T00:00:00Z'), max: new Date('9998-12-31T23:59:59Z'), noInvalidDate: true }),
  offset: fc.integer({ min: -(23 * 60 + 59), max: 23 * 60 + 59 }),
  fraction: fc.stringMatching(/^\d{0,9}$/),
});

/** The instant as a clock in that offset would show it. */
function spell({ at, offset, fraction }: { at: Date; offset: number; fraction: string }): string {
  const local = new Date(Math.floor(at.getTime() / 1000) * 1000 + offset * 60_000).toISOString().slice(0, 19);
  const minutes = Math.abs(offset);
  const zone = `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
  return `${local}${fraction === '' ? '' : `.${fraction}`}${zone}`;
}

describe('an instant', () => {
  it('is the same in every offset, to the microsecond', () => {
    fc.assert(
      fc.property(instant, (sample) => {
        const second = new Date(Math.floor(sample.at.getTime() / 1000) * 1000).toISOString().slice(0, 19);
        expect(parseInstant(spell(sample))).toBe(`${second}.${sample.fraction.slice(0, 6).padEnd(6, '0')}Z`);
      }),
    );
  });

  it('is unchanged when it is parsed again', () => {
    fc.assert(
      fc.property(instant, (sample) => {
        const once = parseInstant(spell(sample));
        expect(once).not.toBeNull();
        expect(parseInstant(once!)).toBe(once);
      }),
    );
  });

  it('is accepted in a query whether or not its plus is encoded', () => {
    fc.assert(
      fc.property(instant, (sample) => {
        const text = spell(sample);
        expect(parseQueryInstant(text)).toBe(parseInstant(text));
        expect(parseQueryInstant(text.replace('+', ' '))).toBe(parseInstant(text));
        const compact = text.replace('T', ' ').replace(/:(\d\d)$/, '$1');
        expect(parseInstant(compact)).toBe(parseInstant(text));
        expect(parseQueryInstant(compact.replace('+', ' '))).toBe(parseInstant(text));
      }),
    );
  });

  it.each([
    ['2030-01-31T09:00:00Z', '2030-01-31T09:00:00.000000Z'],
    ['2030-01-31t09:00:00z', '2030-01-31T09:00:00.000000Z'],
    ['2030-01-31T09:00:00.1Z', '2030-01-31T09:00:00.100000Z'],
    ['2030-01-31T09:00:00.1234567899Z', '2030-01-31T09:00:00.123456Z'],
    ['2030-01-31T09:00:00-00:00', '2030-01-31T09:00:00.000000Z'],
    ['2030-01-01T00:30:00+01:00', '2029-12-31T23:30:00.000000Z'],
    ['2030-12-31T23:30:00-01:00', '2031-01-01T00:30:00.000000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000000Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000000Z'],
    ['0099-06-01T00:00:00Z', '0099-06-01T00:00:00.000000Z'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000000Z'],
    ['2017-01-01T00:59:60.25+01:00', '2017-01-01T00:00:00.250000Z'],
    ['2030-01-31 09:00:00Z', '2030-01-31T09:00:00.000000Z'],
    ['2030-01-31T09:00:00+0100', '2030-01-31T08:00:00.000000Z'],
    ['2030-01-31T09:00:00-0130', '2030-01-31T10:30:00.000000Z'],
    ['2030-01-31 09:00:00.25+0000', '2030-01-31T09:00:00.250000Z'],
  ])('%s is %s', (text, expected) => {
    expect(parseInstant(text)).toBe(expected);
  });

  it.each([
    '',
    'now',
    '2030-01-31',
    '2030-01-31T09:00Z',
    '2030-01-31T09:00:00',
    '2030-01-31  09:00:00Z',
    '2030-01-31_09:00:00Z',
    '2030-01-31T09:00:00 Z',
    ' 2030-01-31T09:00:00Z',
    '2030-01-31T09:00:00Z\n',
    '2030-01-31T09:00:00.Z',
    '2030-01-31T09:00:00,5Z',
    '2030-01-31T09:00:00+1:00',
    '2030-01-31T09:00:00+100',
    '2030-01-31T09:00:00 0100',
    '2030-01-31T09:00:00+01:0',
    '2030-01-31T09:00:00+01',
    '2030-01-31T09:00:00+24:00',
    '2030-01-31T09:00:00+01:60',
    '2030-00-01T00:00:00Z',
    '2030-13-01T00:00:00Z',
    '2030-01-00T00:00:00Z',
    '2030-01-32T00:00:00Z',
    '2030-04-31T00:00:00Z',
    '2030-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2030-01-31T24:00:00Z',
    '2030-01-31T09:60:00Z',
    '2030-01-31T09:00:61Z',
    '2030-01-31T09:00:60Z',
    '2030-01-30T23:59:60Z',
    '2016-12-31T23:59:60+01:00',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '+10000-01-01T00:00:00Z',
    '10000-01-01T00:00:00Z',
    '-0001-01-01T00:00:00Z',
    '２030-01-31T09:00:00Z',
    'infinity',
    '1893456000',
  ])('%j is not one', (text) => {
    expect(isInstant(text)).toBe(false);
  });
});
