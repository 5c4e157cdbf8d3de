/** A length of time with its unit, such as `'500ms'`, `'30s'`, `'10m'`, `'2h'` or `'1.5d'`. */
export type Duration = `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const FORM = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/**
 * The number of milliseconds in a duration.
 *
 * @example milliseconds('1.5s') // 1500
 * @throws TypeError if the text is not a duration: nothing negative, no exponent, no other unit
 */
export function milliseconds(duration: Duration): number {
  const match = FORM.exec(duration);
  if (match === null) {
    throw new TypeError(`${JSON.stringify(duration)} is not a duration; write a number and ms, s, m, h or d: '30s'`);
  }
  return Number(match[1]) * UNITS[match[2] as keyof typeof UNITS];
}

/**
 * The number of whole seconds in a duration, rounded up: the service counts seconds, and later is safer than sooner.
 *
 * @example wholeSeconds('1500ms') // 2
 */
export function wholeSeconds(duration: Duration): number {
  return Math.ceil(milliseconds(duration) / 1_000);
}
