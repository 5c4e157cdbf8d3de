const NOTHING = 'the handler threw nothing';

/**
 * What a handler threw, in words. Some libraries throw plain objects: what they hold says more than `[object Object]`.
 */
export function thrownText(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name || NOTHING;
  if (typeof thrown !== 'object' || thrown === null) return String(thrown) || NOTHING;
  try {
    return JSON.stringify(thrown) || NOTHING;
  } catch {
    return 'an object that is no error, and cannot be written as JSON';
  }
}
