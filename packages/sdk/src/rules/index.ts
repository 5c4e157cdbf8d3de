/**
 * Rules that several packages share: what of a request is refused, and in which words, by the service and by the fake
 * server; when schedules fire; why a job does not run; which tokens can be sent; which words resemble each other;
 * what a handler threw, in words; which status an error has. Nothing here imports anything.
 */
export type { CronFields } from './cron-fields.js';
export { NEVER_AGAIN, NOT_A_ZONE, occurrenceAfter, parseCron, type WallTimes } from './cron-occurrences.js';
export { editDistance } from './edit-distance.js';
export { KEY_FIELD, KEY_HEADER, keyOf, keyOfRequest } from './idempotency-key.js';
export { isInstant, parseInstant, parseQueryInstant } from './instant.js';
export { BAD_CURSOR, clampedTo, QueryReader, type Limits, type QueryParameters } from './query.js';
export { isObject } from './object.js';
export { noHandlerHere, noServerRuns } from './no-handler.js';
export { intervalSecs, spareTokens, STEP_SECS, type Rate } from './rates.js';
export { NOT_STORABLE, type Refuse } from './refusal.js';
export { STATUSES } from './statuses.js';
export { characterCount, isLongerThan, isStorableText } from './text.js';
export { thrownText } from './thrown.js';
export { timeZone } from './time-zone.js';
export { bearerTokenOf } from './token.js';
export * as why from './why.js';
export { EXPIRED, type GateStanding, type PlaceInLine, type Standing } from './why.js';
