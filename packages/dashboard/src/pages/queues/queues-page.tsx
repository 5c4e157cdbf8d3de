import type { ReactNode } from 'react';
import { Empty, Loaded } from '../../components/notes.js';
import { Page } from '../../components/page.js';
import { Pager } from '../../components/tables/pager.js';
import { QueueTable } from '../../components/tables/queue-table.js';
import { useQueues } from '../../components/tables/use-queues.js';
import { curlOf } from '../../api/curl.js';
import { useAddress } from '../../lib/routing.js';

/** The queues; a page of them if there are more than a thousand. */
export default function QueuesPage(): ReactNode {
  const [{ cursor }] = useAddress();
  const read = useQueues(cursor);
  return (
    <Page title="Queues">
      <Loaded read={read} what="Queues">
        {({ queues }) =>
          queues.length === 0 ? (
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
              <QueueTable queues={queues} />
            </div>
          )
        }
      </Loaded>
      {read.answer !== undefined && <Pager page={read.answer.data} first="First" />}
    </Page>
  );
}
