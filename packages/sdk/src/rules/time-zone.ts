/**
 * Local clocks. A zone is asked one question, its offset from UTC at an instant; everything else follows from that.
 *
 * An instant is in milliseconds since 1970. A wall time is what the local clock shows then, written as if it were UTC:
 * the instant plus the offset. The clock runs steadily within a segment and jumps between two: forward, which skips
 * wall times, or back, which repeats them.
 */
export interface Segment {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  readonly offset: number;
}

export interface TimeZone {
  /**
   * The stretches of one offset that make up the time from one instant to another, in order and cut to it. Two may have
   * the same offset.
   */
  segments(start: number, end: number): Segment[];
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Since 1970 offsets have stayed within -12 to +14 hours. */
const WIDEST_OFFSET_MS = 16 * HOUR_MS;
/**
 * How far back or ahead of an instant a jump can still matter: further than any clock was ever moved, which is a day.
 */
const NEARBY_MS = 2 * DAY_MS;

/**
 * The names of the IANA database that have no region. The runtime knows others, such as PST, that are not in it and
 * mean several things.
 */
const WITHOUT_REGION = new Set(
  (
    'cet cst6cdt cuba eet egypt eire est est5edt gb gb-eire gmt gmt+0 gmt-0 gmt0 greenwich hongkong hst iceland ' +
    'iran israel jamaica japan kwajalein libya met mst mst7mdt navajo nz nz-chat poland portugal prc pst8pdt roc ' +
    'rok singapore turkey uct universal utc w-su wet zulu'
  ).split(' '),
);
const WITH_REGION = /^(?!systemv\/)[a-z]+(?:\/[a-z\d_+-]+){1,2}$/;

/**
 * By lower-case name, because case has no meaning in these names. At most as many as the database has, about six
 * hundred.
 */
const zones = new Map<string, TimeZone>();

/** Null: there is no such zone. */
export function timeZone(name: string): TimeZone | null {
  const key = name.toLowerCase();
  const known = zones.get(key);
  if (known) return known;
  if (!WITHOUT_REGION.has(key) && !WITH_REGION.test(key)) return null;
  const zone = openZone(key);
  if (zone) zones.set(key, zone);
  return zone;
}

/**
 * The highest wall time that the clock has shown up to an instant. After a jump back, the clock takes a while to pass
 * it again.
 */
export function highWater(zone: TimeZone, instant: number): number {
  return Math.max(...zone.segments(instant - NEARBY_MS, instant + 1).map(({ end, offset }) => end - 1 + offset));
}

/**
 * The first instant at which the clock shows a wall time or a later one: of a repeated wall time that is the first of
 * the two, of a skipped one the jump.
 */
export function firstShown(zone: TimeZone, wall: number): number {
  const around = zone.segments(wall - WIDEST_OFFSET_MS, wall + WIDEST_OFFSET_MS);
  for (const { start, end, offset } of around) {
    if (end + offset > wall) return Math.max(start, wall - offset);
  }
  throw new RangeError(`no offset is as wide as that at ${wall}`);
}

/** What the clock shows at an instant. */
export function wallAt(zone: TimeZone, instant: number): number {
  return instant + (zone.segments(instant, instant + 1)[0]?.offset ?? 0);
}

/** The segments right after an instant, far enough for every wall time that was shown by then to be shown again. */
export function segmentsAfter(zone: TimeZone, instant: number): Segment[] {
  return zone.segments(instant + 1, instant + 1 + NEARBY_MS);
}

/** How many days of a zone are remembered: the same few are asked about again and again. */
const KEPT_DAYS = 256;

function openZone(name: string): TimeZone | null {
  const offsetAt = offsetsOf(name);
  if (!offsetAt) return null;
  const days = new Map<number, readonly Segment[]>();
  const dayOf = (day: number): readonly Segment[] => {
    const known = days.get(day);
    if (known) return known;
    const found = segmentsOfDay(offsetAt, day * DAY_MS);
    if (days.size >= KEPT_DAYS) days.clear();
    days.set(day, found);
    return found;
  };
  return {
    segments(start, end) {
      const found: Segment[] = [];
      for (let day = Math.floor(start / DAY_MS); day * DAY_MS < end; day++) {
        for (const each of dayOf(day)) {
          if (each.end <= start || each.start >= end) continue;
          found.push({ ...each, start: Math.max(each.start, start), end: Math.min(each.end, end) });
        }
      }
      return found;
    },
  };
}

/** No zone jumps twice within a day. The jump is found by halving, to the second. */
function segmentsOfDay(offsetAt: (instant: number) => number, start: number): readonly Segment[] {
  const end = start + DAY_MS;
  const [before, after] = [offsetAt(start), offsetAt(end - 1000)];
  if (before === after) return [{ start, end, offset: before }];
  let [low, high] = [start, end - 1000];
  while (high - low > 1000) {
    const middle = low + Math.floor((high - low) / 2000) * 1000;
    if (offsetAt(middle) === before) low = middle;
    else high = middle;
  }
  return [
    { start, end: high, offset: before },
    { start: high, end, offset: after },
  ];
}

const FIELDS = {
  hourCycle: 'h23',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
} as const;

function offsetsOf(timeZone: string): ((instant: number) => number) | null {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', { ...FIELDS, timeZone });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
  return (instant) => {
    const [month = 1, day = 1, year = 0, hour, minute, second] = (format.format(instant).match(/\d+/g) ?? []).map(
      Number,
    );
    return Date.UTC(year, month - 1, day, hour, minute, second) - instant;
  };
}
