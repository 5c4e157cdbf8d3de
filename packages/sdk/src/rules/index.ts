/**
 * The rules of requests: what is refused, and in which words. The service and the fake server share them, so that a
 * test against one means the same against the other. Nothing here imports anything.
 */
export { KEY_FIELD, KEY_HEADER, keyOf, keyOfRequest } from './idempotency-key.js';
export { isInstant, parseInstant, parseQueryInstant } from './instant.js';
export { BAD_CURSOR, clampedTo, QueryReader, type Limits, type QueryParameters } from './query.js';
export { NOT_STORABLE, type Refuse } from './refusal.js';
export { characterCount, isLongerThan, isStorableText } from './text.js';
