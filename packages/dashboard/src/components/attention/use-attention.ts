import type { DeadLetterGroup, DeadLetterGroups, QueueDepth, Queues } from '@millrace/contract';
import { useRead, type Read } from '../../api/hooks.js';
import { useAside } from '../../lib/aside.js';
import { attentionOf, isStillAside, type Attention } from '../../lib/attention.js';
import { useNow } from '../../lib/clock.js';
import { sizeOf } from '../../lib/held.js';
import { useZone } from '../../lib/preferences.js';
import { useWho } from '../../session/session.js';
import { sinceOf } from '../since.js';
import { spanMs } from '../tables/filters.js';

/** More kinds of failures than anybody reads at a glance. */
const GROUPS_MAX = 12;
const GROUPS_POLL_MS = 5000;

/** What needs attention, without what was put aside. */
export interface Attended {
  readonly items: readonly Attention[];
  /** Those that were put aside and are no worse since. */
  readonly away: readonly Attention[];
  /** The key under which one is put aside in this browser, where several tenants may be looked at. */
  readonly asideKey: (item: Attention) => string;
}

export interface ToAttend {
  /** Undefined until it is known. */
  readonly attended: Attended | undefined;
  readonly queues: Read<Queues>;
}

interface Options {
  readonly enabled?: boolean;
  /** How often to look, unless as often as ever. */
  readonly pollMs?: number;
  /** Whether to look while the page is hidden too. */
  readonly inBackground?: boolean;
}

/** What the tenant should look at: queues that do not move, and new kinds of failures. */
export function useAttention(span: string, options: Options = {}): ToAttend {
  const { pollMs, ...always } = options;
  const queues = useRead<Queues>('/queues', {
    ...always,
    // The list that the tables show, so that both read it once.
    query: { idle: true },
    ...(pollMs !== undefined && { pollMs }),
  });
  const groups = useRead<DeadLetterGroups>('/dlq/groups', {
    ...always,
    query: { limit: GROUPS_MAX, replayed: false },
    since: sinceOf('since', span),
    pollMs: pollMs ?? GROUPS_POLL_MS,
  });
  // A queue may be paused while there is nothing for it to do.
  const atWork = queues.data?.queues.filter((queue) => sizeOf(queue) > 0);
  return { attended: useAttended(atWork, groups.data?.groups ?? [], span), queues };
}

/** The same of queues and failures that are at hand; undefined as long as the queues are. */
export function useAttended(
  queues: readonly QueueDepth[] | undefined,
  groups: readonly DeadLetterGroup[],
  span: string,
): Attended | undefined {
  const zone = useZone();
  const now = useNow();
  const aside = useAside();
  const { tenant_id } = useWho();
  if (queues === undefined) return undefined;
  const asideKey = ({ key }: Attention): string => `${tenant_id ?? ''} ${key}`;
  const all = attentionOf(queues, groups, now - (spanMs(span) ?? 0), now, zone);
  const isAway = (item: Attention): boolean => isStillAside(aside[asideKey(item)], item.mark);
  return { items: all.filter((item) => !isAway(item)), away: all.filter(isAway), asideKey };
}
