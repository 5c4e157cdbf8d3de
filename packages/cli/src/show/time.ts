/** `2m`, `3h`, `5d`: how long ago, or how long, in its largest unit. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

export const age = (instant: string | null, now: Date): string | null =>
  instant === null ? null : span(now.getTime() - Date.parse(instant));

/** How long until an instant: `in 2h`, or `due`. */
export function until(instant: string | null, now: Date): string | null {
  if (instant === null) return null;
  const ms = Date.parse(instant) - now.getTime();
  return ms <= 0 ? 'due' : `in ${span(ms)}`;
}
