import type { QueueDepth, Queues } from '@millrace/contract';
import { useEffect, useMemo } from 'react';
import { useRead, type Read } from '../../api/hooks.js';
import { useWho } from '../../session/session.js';

/**
 * The queues by name, idle ones among them. The server names a queue up to 15 seconds after its first job: one that
 * this page has shown stays until then.
 */
export function useQueues(cursor?: string): Pick<Read<Queues>, 'answer' | 'error' | 'isPlaceholder'> {
  const { tenant_id } = useWho();
  const { answer, error, isPlaceholder } = useRead<Queues>('/queues', { query: { idle: true, cursor } });
  const shown = useMemo(() => new Set<string>(), [tenant_id]);
  const isWhole = answer !== undefined && !isPlaceholder && cursor === undefined && answer.data.has_more !== true;
  const whole = useMemo(
    () => (isWhole ? { ...answer, data: { ...answer.data, queues: withIdle(answer.data.queues, shown) } } : answer),
    [answer, isWhole, shown],
  );
  useEffect(() => {
    if (isWhole) for (const { queue } of answer.data.queues) shown.add(queue);
  }, [answer, isWhole, shown]);
  return { answer: whole, error, isPlaceholder };
}

function withIdle(queues: readonly QueueDepth[], shown: ReadonlySet<string>): QueueDepth[] {
  const listed = new Set(queues.map(({ queue }) => queue));
  const gone = [...shown].filter((queue) => !listed.has(queue));
  return [...queues, ...gone.map(idleQueue)];
}

/** What is known of a queue that the server does not list: it holds nothing. */
const idleQueue = (queue: string): QueueDepth => ({
  ...{ queue, pending: 0, scheduled: 0, running: 0, retrying: 0, retrying_later: 0 },
  ...{ oldest_pending_age_secs: null, paused_at: null, last_lease_at: null, settings: null },
  ...{ paused_reason: null, paused_by: null },
});
