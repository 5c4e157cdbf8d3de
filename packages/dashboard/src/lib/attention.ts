import type { DeadLetterGroup, QueueDepth } from '@millrace/contract';
import { clock, plural, roughly } from './format.js';
import type { Zone } from './preferences.js';

/** What it is about: what can be done depends on it. */
export type Subject =
  | { readonly kind: 'stuck' | 'slow' | 'paused'; readonly queue: string }
  | { readonly kind: 'dead letters'; readonly group: DeadLetterGroup };

/** Something that a person should look at. */
export interface Attention {
  readonly key: string;
  readonly tone: 'red' | 'amber';
  readonly text: string;
  /** How bad it is among those of the same tone and kind. */
  readonly weight: number;
  /** What it is like now: whoever puts it aside sees it again once it is worse (see `isStillAside`). */
  readonly mark: string;
  readonly subject: Subject;
}

/** A job that waits longer than this is worth a line. */
const WAITS_TOO_LONG_SECS = 60;
/** A worker asks at least every half a minute: after two minutes nobody is asking. */
const NOBODY_ASKS_MS = 120_000;

/** The worst first: nobody works, work fails, work is late, work is held back on purpose. */
const RANKS: readonly Subject['kind'][] = ['stuck', 'dead letters', 'slow', 'paused'];

/** What needs attention, the worst first. */
export function attentionOf(
  queues: readonly QueueDepth[],
  groups: readonly DeadLetterGroup[],
  since: number,
  now: number,
  zone: Zone,
): Attention[] {
  return [
    ...queues.flatMap((queue) => ofQueue(queue, now, zone)),
    ...groups.map((group) => ofGroup(group, since, zone)),
  ].sort(
    (one, other) =>
      RANKS.indexOf(one.subject.kind) - RANKS.indexOf(other.subject.kind) ||
      other.weight - one.weight ||
      one.key.localeCompare(other.key),
  );
}

function ofQueue(depth: QueueDepth, now: number, zone: Zone): Attention[] {
  const { queue, paused_at, oldest_pending_age_secs: age, last_lease_at, pending } = depth;
  if (paused_at !== null) {
    const reason = pausedFor(depth);
    const text = `${queue}: paused since ${clock(paused_at, zone)}${reason === null ? '' : `: ${reason}`}`;
    const subject = { kind: 'paused', queue } as const;
    return [{ key: `paused ${queue}`, tone: 'amber', text, weight: pending, mark: `paused ${paused_at}`, subject }];
  }
  if (age === null || age < WAITS_TOO_LONG_SECS) return [];
  const waits = `${queue}: ${plural(pending, 'job is', 'jobs are')} due, ${pending === 1 ? '' : 'the oldest '}for ${roughly(age * 1000)}`;
  const silent = last_lease_at === null ? null : now - Date.parse(last_lease_at);
  const isStuck = silent === null || silent >= NOBODY_ASKS_MS;
  const asks = silent === null ? 'no worker asks for it' : `no worker has asked for ${roughly(silent)}`;
  const kind = isStuck ? 'stuck' : 'slow';
  return [
    {
      key: `queue ${queue}`,
      tone: isStuck ? 'red' : 'amber',
      text: isStuck ? `${waits}, and ${asks}` : waits,
      weight: age,
      mark: `${kind} ${age}`,
      subject: { kind, queue },
    },
  ];
}

/** Why a queue is paused, and by whom, as far as the server says. */
export function pausedFor({ paused_reason, paused_by }: PausedWords): string | null {
  const by = paused_by ?? null;
  if (paused_reason !== undefined && paused_reason !== null)
    return by === null ? paused_reason : `${paused_reason} (${by})`;
  return by === null ? null : `by ${by}`;
}

/** Older servers do not say. */
export interface PausedWords {
  readonly paused_at: string | null;
  readonly paused_reason?: string | null | undefined;
  readonly paused_by?: string | null | undefined;
}

function ofGroup(group: DeadLetterGroup, since: number, zone: Zone): Attention {
  const first = Math.max(Date.parse(group.first_at), since);
  const letters = plural(group.count, 'new dead letter');
  const message = group.message ?? group.reason.replaceAll('_', ' ');
  return {
    key: `group ${group.fingerprint}`,
    tone: 'red',
    text: `${letters} of ${group.task_name} since ${clock(first, zone)}: “${message}”`,
    weight: group.count,
    mark: `letters ${group.count}`,
    subject: { kind: 'dead letters', group },
  };
}

/**
 * Whether what was put aside may stay there: until nobody works where somebody did, or there is twice as much of it,
 * seconds of waiting or dead letters. What goes on as before is known. A pause stays aside until the queue is paused
 * anew. Marks of earlier versions say nothing that could be compared.
 */
export function isStillAside(before: string | undefined, now: string): boolean {
  if (before === undefined) return false;
  const [kindBefore, amountBefore] = before.split(' ');
  const [kind, amount] = now.split(' ');
  if (kind === 'paused') return before === now;
  if (kind === 'stuck' && kindBefore === 'slow') return false;
  return Number(amount) < 2 * Number(amountBefore);
}
