import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const css = readFileSync(new URL('../../src/styles/base.css', import.meta.url), 'utf8');

/** The tokens that are colours, in the light theme and in the dark one. */
const colours = new Map(
  [...css.matchAll(/--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g)].map(
    ([, name, light, dark]) => [name ?? '', [light ?? '', dark ?? '']] as const,
  ),
);

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(name: string, ground: string, theme: 0 | 1): number {
  const [one, other] = [name, ground].map((token) => luminance(colours.get(token)?.[theme] ?? ''));
  const [lighter, darker] = one! > other! ? [one!, other!] : [other!, one!];
  return (lighter + 0.05) / (darker + 0.05);
}

const STATES = ['blue', 'amber', 'green', 'red', 'violet', 'grey'];
const GROUNDS = ['ground', 'surface', 'raised', 'hover', 'chosen'];

describe.each([
  ['light', 0],
  ['dark', 1],
] as const)('the colours of the %s theme', (_, theme) => {
  test.each(['text', 'quiet', 'accent', ...STATES])('%s can be read on every ground', (name) => {
    for (const ground of GROUNDS) expect(contrast(name, ground, theme), ground).toBeGreaterThanOrEqual(4.5);
  });

  test.each(STATES)('%s can be read on its own ground, and its area be told from the surface', (name) => {
    expect(contrast(name, `${name}-ground`, theme)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(`${name}-fill`, 'surface', theme)).toBeGreaterThanOrEqual(3);
  });

  test('the words on a filled button can be read', () => {
    expect(contrast('on-accent', 'accent', theme)).toBeGreaterThanOrEqual(4.5);
  });
});
