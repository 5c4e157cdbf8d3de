import type { Queues } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Empty, Loaded } from '../../components/notes.js';
import { Page } from '../../components/page.js';
import { Pager } from '../../components/tables/pager.js';
import { QueueTable } from '../../components/tables/queue-table.js';
import { curlOf } from '../../api/curl.js';
import { useAddress } from '../../lib/address.js';

/** The queues that hold unfinished jobs; a page of them if there are more than a thousand. */
export default function QueuesPage(): ReactNode {
  const [{ cursor }] = useAddress();
  const read = useRead<Queues>('/queues', { query: { cursor } });
  return (
    <Page title="Queues">
      <Loaded read={read} what="Queues">
        {({ queues }) =>
          queues.length === 0 ? (
            <Empty
              curl={curlOf({
                method: 'POST',
                path: '/jobs',
                body: JSON.stringify({ task_name: 'send_mail', config: { queue: 'mail' } }),
              })}
            >
              No queue holds unfinished jobs. A queue exists as soon as a job names it:
            </Empty>
          ) : (
            <div className="panel">
              <QueueTable queues={queues} />
            </div>
          )
        }
      </Loaded>
      {read.data !== undefined && <Pager page={read.data} first="First" />}
    </Page>
  );
}
