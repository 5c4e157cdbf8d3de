/** What a payload, a result, metadata or progress is: a JSON object. */
export type JsonObject = Record<string, unknown>;

/** Whether a value is an object with fields, as opposed to null, a list or anything simple. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
