import type { Queues } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Empty, Loaded } from '../../components/notes.js';
import { Page } from '../../components/page.js';
import { Pager } from '../../components/tables/pager.js';
import { QueueTable } from '../../components/tables/queue-table.js';
import { curlOf } from '../../api/curl.js';
import { seenQueues } from '../../lib/seen-queues.js';
import { useWho } from '../../session/session.js';
import { useAddress } from '../../lib/routing.js';

/** The queues; a page of them if there are more than a thousand. */
export default function QueuesPage(): ReactNode {
  const [{ cursor }] = useAddress();
  const { tenant_id } = useWho();
  const read = useRead<Queues>('/queues', { query: { cursor } });
  return (
    <Page title="Queues">
      <Loaded read={read} what="Queues">
        {({ queues, has_more }) =>
          queues.length === 0 && seenQueues(tenant_id ?? '', []).length === 0 ? (
            <Empty
              icon="queues"
              title="No queue yet"
              curl={curlOf({
                method: 'POST',
                path: '/jobs',
                body: JSON.stringify({ task_name: 'send_mail', config: { queue: 'mail' } }),
              })}
            >
              A queue exists as soon as a job names it. This makes one called mail:
            </Empty>
          ) : (
            <div className="panel">
              <QueueTable queues={queues} areAll={cursor === undefined && has_more !== true} />
            </div>
          )
        }
      </Loaded>
      {read.data !== undefined && <Pager page={read.data} first="First" />}
    </Page>
  );
}
