import type { Workers } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Empty, Loaded } from '../../components/notes.js';
import { Page } from '../../components/page.js';
import { WorkerTable } from '../../components/tables/worker-table.js';
import { curlOf } from '../../api/curl.js';

/** Who worked on the caller's jobs in the last hour. */
export default function WorkersPage(): ReactNode {
  const read = useRead<Workers>('/workers');
  return (
    <Page title="Workers" aside={<span className="quiet">that held jobs in the last hour</span>}>
      <Loaded read={read} what="Workers">
        {({ workers }) =>
          workers.length === 0 ? (
            <Empty curl={curlOf({ method: 'POST', path: '/queues/default/lease', body: '{"worker_id":"me"}' })}>
              No worker has held a job in the last hour. Start a worker like this, with the worker token:
            </Empty>
          ) : (
            <div className="panel">
              <WorkerTable workers={workers} />
            </div>
          )
        }
      </Loaded>
    </Page>
  );
}
