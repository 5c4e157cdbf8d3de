/** Whether a value is an object with fields, as opposed to null, a list or anything simple. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
