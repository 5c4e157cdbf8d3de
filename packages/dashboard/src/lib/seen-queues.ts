/**
 * The queues that a tenant was seen to use. The server lists those that hold unfinished jobs; one that has just become
 * empty must not vanish from under the eyes of whoever watches it. Kept in this browser for a week.
 */
type Seen = Record<string, Record<string, number>>;

const KEY = 'millrace.queues';
const WEEK_MS = 7 * 86_400_000;
/** Written again only if it is news. */
const NEWS_MS = 3_600_000;
const QUEUES_MAX = 100;
const TENANTS_MAX = 20;

function read(): Seen {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return typeof found === 'object' && found !== null ? (found as Seen) : {};
  } catch {
    return {};
  }
}

/** Notes the queues that hold jobs now; answers with all that were seen within the week, by name. */
export function seenQueues(tenant: string, holding: readonly string[], now = Date.now()): string[] {
  const all = read();
  const before = Object.entries(all[tenant] ?? {}).filter(([, at]) => Number(at) > now - WEEK_MS);
  const known = new Map(before);
  const news = holding.filter((queue) => !((known.get(queue) ?? 0) > now - NEWS_MS));
  for (const queue of news) known.set(queue, now);
  if (news.length > 0) {
    const latest = [...known].sort(([, one], [, other]) => other - one).slice(0, QUEUES_MAX);
    const others = Object.entries(all).filter(([name]) => name !== tenant);
    keep(Object.fromEntries([...others.slice(1 - TENANTS_MAX), [tenant, Object.fromEntries(latest)]]));
  }
  return [...known.keys()].sort((one, other) => one.localeCompare(other));
}

function keep(seen: Seen): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(seen));
  } catch {
    // A browser that keeps nothing forgets the idle ones with the page.
  }
}
