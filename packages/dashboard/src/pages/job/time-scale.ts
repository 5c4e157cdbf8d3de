/** A stretch of time in which nothing ran, drawn shorter than it was. In thousandths of the line. */
export interface Cut {
  readonly from: number;
  readonly to: number;
  readonly ms: number;
}

export interface TimeScale {
  /** Where an instant stands, in thousandths of the line. */
  readonly at: (instant: number) => number;
  readonly cuts: readonly Cut[];
}

type Span = readonly [from: number, to: number];

/** An idle stretch longer than all the time that something ran is cut to this part of it; a shorter one stays. */
const IDLE_PART = 0.35;

/**
 * A line of time on which what ran can be seen: a job that runs for a second and waits for an hour before it is tried
 * again would be two hairs on an even one. Stretches in which something ran are to scale with each other.
 */
export function timeScale(from: number, to: number, ran: readonly Span[]): TimeScale {
  const busy = merged(ran.map(([begin, end]): Span => [Math.max(from, begin), Math.min(to, end)]));
  const busyMs = busy.reduce((sum, [begin, end]) => sum + end - begin, 0);
  const stretches = stretchesOf(from, to, busy).map(([begin, end, isBusy]) => {
    const ms = end - begin;
    const isCut = !isBusy && busyMs > 0 && ms > busyMs;
    return { begin, end, ms, shown: isCut ? busyMs * IDLE_PART : ms, isCut };
  });
  const total = stretches.reduce((sum, { shown }) => sum + shown, 0);
  const perMs = total === 0 ? 0 : 1000 / total;

  const places: { readonly begin: number; readonly end: number; readonly from: number; readonly to: number }[] = [];
  const cuts: Cut[] = [];
  let place = 0;
  for (const { begin, end, ms, shown, isCut } of stretches) {
    const next = place + shown * perMs;
    places.push({ begin, end, from: place, to: next });
    if (isCut) cuts.push({ from: place, to: next, ms });
    place = next;
  }
  const at = (instant: number): number => {
    const found = places.find(({ end }) => instant <= end) ?? places.at(-1);
    if (found === undefined || found.end === found.begin) return 0;
    const part = (instant - found.begin) / (found.end - found.begin);
    return found.from + Math.min(1, Math.max(0, part)) * (found.to - found.from);
  };
  return { at, cuts };
}

/** In order, without overlaps. */
function merged(spans: readonly Span[]): Span[] {
  const result: Span[] = [];
  for (const [from, to] of [...spans].filter(([begin, end]) => end > begin).sort(([one], [other]) => one - other)) {
    const last = result.at(-1);
    if (last !== undefined && from <= last[1]) result[result.length - 1] = [last[0], Math.max(last[1], to)];
    else result.push([from, to]);
  }
  return result;
}

/** The whole line, cut where something begins or ends to run. */
function stretchesOf(from: number, to: number, busy: readonly Span[]): [from: number, to: number, isBusy: boolean][] {
  const result: [number, number, boolean][] = [];
  let at = from;
  for (const [begin, end] of busy) {
    if (begin > at) result.push([at, begin, false]);
    result.push([begin, end, true]);
    at = end;
  }
  if (to > at) result.push([at, to, false]);
  return result;
}
