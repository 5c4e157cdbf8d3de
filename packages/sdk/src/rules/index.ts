/**
 * Rules that several packages share: what of a request is refused, and in which words, by the service and by the fake
 * server; which tokens can be sent; which words resemble each other. Nothing here imports anything.
 */
export { editDistance } from './edit-distance.js';
export { KEY_FIELD, KEY_HEADER, keyOf, keyOfRequest } from './idempotency-key.js';
export { isInstant, parseInstant, parseQueryInstant } from './instant.js';
export { BAD_CURSOR, clampedTo, QueryReader, type Limits, type QueryParameters } from './query.js';
export { NOT_STORABLE, type Refuse } from './refusal.js';
export { characterCount, isLongerThan, isStorableText } from './text.js';
export { bearerTokenOf } from './token.js';
