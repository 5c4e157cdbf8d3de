/** Jitter grows from this to MAX_JITTER_MS, fourfold per try. */
const FIRST_JITTER_MS = 200;
const MAX_JITTER_MS = 5_000;
/** A server that asks for more is asked again after this. */
const MAX_RETRY_AFTER_MS = 60_000;

const REPEATED_STATUSES: ReadonlySet<number> = new Set([500, 502, 503, 504]);

/** Whether an answer with this status says nothing final about the call. */
export const isRepeated = (status: number): boolean => REPEATED_STATUSES.has(status);

/** How long to wait before the next try: what the server asked for, or a random time that grows with the tries. */
export function retryDelayMs(tries: number, retryAfterSecs: number | null, random: () => number = Math.random): number {
  if (retryAfterSecs !== null) return Math.min(retryAfterSecs * 1_000, MAX_RETRY_AFTER_MS);
  return random() * Math.min(FIRST_JITTER_MS * 4 ** (tries - 1), MAX_JITTER_MS);
}

/** The seconds that a `Retry-After` header asks for: a number, or a date. Null if there is none to be read. */
export function parseRetryAfter(header: string | null, now: number = Date.now()): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now) / 1_000));
}
