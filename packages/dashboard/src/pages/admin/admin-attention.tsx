import type { AdminQueue, AdminQueues } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { AttentionCard } from '../../components/attention/attention-card.js';
import { useAttended } from '../../components/attention/use-attention.js';
import { PauseSwitch } from '../../components/pausing/pause-switch.js';
import { TenantLink } from './tenant-link.js';

/** So many tenants of a queue are a click away; the table below names more. */
const NAMED = 2;

/** Queues of all tenants that do not move, each with the pages of those who hold most of it. */
export function AdminAttention(): ReactNode {
  const { data } = useRead<AdminQueues>('/admin/queues');
  const attended = useAttended(data?.queues, [], '1h');
  // The panel of the queues says so if they cannot be read.
  if (data === undefined || attended === undefined) return null;
  return (
    <AttentionCard
      attended={attended}
      actions={(subject) => {
        if (subject.kind === 'dead letters') return null;
        const { queue, kind } = subject;
        const tenants = tenantsOf(data.queues, queue);
        return (
          <>
            {tenants.slice(0, NAMED).map((tenant) => (
              <TenantLink key={tenant} tenant={tenant} queue={queue} className="button small" />
            ))}
            <PauseSwitch queue={queue} isPaused={kind === 'paused'} tenants={tenants} />
          </>
        );
      }}
    />
  );
}

/** Those who hold most of it, the largest first. */
const tenantsOf = (queues: readonly AdminQueue[], name: string): readonly string[] =>
  queues.find(({ queue }) => queue === name)?.tenants.map(({ tenant_id }) => tenant_id) ?? [];
