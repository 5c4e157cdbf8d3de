/** Whether a value is an object with fields, as opposed to null, a list or anything simple. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
