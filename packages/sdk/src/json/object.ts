export { isObject } from '../rules/object.js';

/** What a payload, a result, metadata or progress is: a JSON object. */
export type JsonObject = Record<string, unknown>;
