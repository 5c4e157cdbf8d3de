import type { DeadLetterGroup, QueueDepth } from '@millrace/contract';
import { clock, plural, roughly } from '../../lib/format.js';
import type { Zone } from '../../lib/preferences.js';

/** Something that a person should look at, and where. */
export interface Attention {
  readonly key: string;
  readonly tone: 'red' | 'amber';
  readonly text: string;
  readonly queue?: string;
  readonly fingerprint?: string;
}

/** A job that waits longer than this is worth a line. */
const WAITS_TOO_LONG_SECS = 60;
/** A worker asks at least every half a minute: after two minutes nobody is asking. */
const NOBODY_ASKS_MS = 120_000;
const GROUPS_SHOWN = 3;

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
    ...groups.slice(0, GROUPS_SHOWN).map((group) => ofGroup(group, since, zone)),
  ].sort((one, other) => Number(one.tone === 'amber') - Number(other.tone === 'amber'));
}

function ofQueue(depth: QueueDepth, now: number, zone: Zone): Attention[] {
  const { queue, paused_at, oldest_pending_age_secs: age, last_lease_at, pending } = depth;
  if (paused_at !== null) {
    return [{ key: `paused ${queue}`, tone: 'amber', queue, text: `${queue}: paused since ${clock(paused_at, zone)}` }];
  }
  if (age === null || age < WAITS_TOO_LONG_SECS) return [];
  const waits = `${queue}: the oldest of ${plural(pending, 'waiting job')} waits ${roughly(age * 1000)}`;
  const silent = last_lease_at === null ? null : now - Date.parse(last_lease_at);
  if (silent === null) return [{ key: queue, tone: 'red', queue, text: `${waits}, and no worker asks for it` }];
  if (silent < NOBODY_ASKS_MS) return [{ key: queue, tone: 'amber', queue, text: waits }];
  return [{ key: queue, tone: 'red', queue, text: `${waits}, and no worker has asked for ${roughly(silent)}` }];
}

function ofGroup(group: DeadLetterGroup, since: number, zone: Zone): Attention {
  const first = Math.max(Date.parse(group.first_at), since);
  const letters = plural(group.count, 'new dead letter');
  const message = group.message ?? group.reason.replaceAll('_', ' ');
  return {
    key: group.fingerprint,
    tone: 'red',
    fingerprint: group.fingerprint,
    text: `${letters} of ${group.task_name} since ${clock(first, zone)}: “${message}”`,
  };
}
