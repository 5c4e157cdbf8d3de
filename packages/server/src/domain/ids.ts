/**
 * Ids are UUIDs of version 7 in two halves. The database makes the first 16 hex digits from its own clock
 * (`millrace.id_prefix`), so that ids sort by creation time. The server makes the last 16:
 *
 *   variant (2 bits) | step (1) | limited (1) | position in the statement (12) | tenant bucket (16) | randomness (32)
 *
 * The position keeps the order of a batch. The bucket leads from an id back to its tenant (see the tenants table). The
 * job of a workflow step is marked as such in its id, because it is settled differently: its workflow must be locked
 * first. So is, by the mark `limited`, a job with limits, which has room to give back when an attempt ends; one that
 * expires, which must still do so if it is given back undelivered; and one with a parent, which is to be told of its
 * end. The second mark used to be the highest bit of the position, which only steps ever reached: a step that an
 * earlier version made may carry it without having limits, and what is done for marked jobs must be right for such a
 * step too (docs/adr/0033-limits.md).
 */
export const MAX_POSITION = 0xfff;
const VARIANT = 0x8000;
const STEP = 0x2000;
const LIMITED = 0x1000;

export interface IdMarks {
  readonly isStep?: boolean;
  readonly isLimited?: boolean;
}

/** FNV-1a over the UTF-8 bytes, folded to 16 bits. Buckets are stored, so this must never change. */
export function bucketOf(tenant: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(tenant)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return ((hash >>> 16) ^ hash) & 0xffff;
}

/** `random` is 32 bits, as eight hex digits. */
export function idSuffix(position: number, bucket: number, random: string, marks: IdMarks = NO_MARKS): string {
  const flags = VARIANT | (marks.isStep === true ? STEP : 0) | (marks.isLimited === true ? LIMITED : 0);
  return hex4(flags | (position & MAX_POSITION)) + hex4(bucket) + random;
}

const NO_MARKS: IdMarks = {};

/** Turns suffixes into ids: all ids of one statement share its prefix. */
export function idsWith(prefix: string): (suffix: string) => string {
  const head = `${prefix.slice(0, 8)}-${prefix.slice(8, 12)}-${prefix.slice(12)}`;
  return (suffix) => `${head}-${suffix.slice(0, 4)}-${suffix.slice(4)}`;
}

export function bucketOfId(id: string): number {
  return Number.parseInt(id.slice(24, 28), 16);
}

export function isStepId(id: string): boolean {
  return (Number.parseInt(id.slice(19, 23), 16) & STEP) !== 0;
}

/** Whether the job may have limits or a parent, or expire. */
export function isLimitedId(id: string): boolean {
  return (Number.parseInt(id.slice(19, 20), 16) & (LIMITED >> 12)) !== 0;
}

/** The instant of creation, which every id carries, in milliseconds since 1970. */
export function createdMsOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/**
 * The same to the microsecond, as RFC 3339 without trailing zeros: exactly what the row's created_at says. The jobs of
 * one statement share it and tend to be read one after the other, hence a cache of one.
 */
export function createdAtOf(id: string): string {
  const instant = id.slice(0, 18);
  if (instant !== lastCreated.instant) lastCreated = { instant, text: instantText(id) };
  return lastCreated.text;
}

let lastCreated = { instant: '', text: '' };

function instantText(id: string): string {
  const micros = Math.ceil((Number.parseInt(id.slice(15, 18), 16) * 1000) / 4096);
  const digits = (String(createdMsOf(id) % 1000).padStart(3, '0') + String(micros).padStart(3, '0')).replace(/0+$/, '');
  const seconds = new Date(createdMsOf(id)).toISOString().slice(0, 19);
  return digits === '' ? `${seconds}Z` : `${seconds}.${digits}Z`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (text: string): boolean => UUID.test(text);

/** Adds a leading digit and cuts it off again: cheaper than padding, and ids are made by the thousand. */
function hex4(value: number): string {
  return (0x10000 | value).toString(16).slice(1);
}
