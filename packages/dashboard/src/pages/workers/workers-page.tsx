import type { Workers } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Empty, Loaded } from '../../components/notes.js';
import { Page } from '../../components/page.js';
import { WorkerTable } from '../../components/tables/worker-table.js';
import { curlOf } from '../../api/curl.js';
import { useAddress } from '../../lib/routing.js';

/** Who works on the caller's jobs, what they run now, and how the last hour went. */
export default function WorkersPage(): ReactNode {
  const [{ worker }] = useAddress();
  const read = useRead<Workers>('/workers');
  return (
    <Page title="Workers" aside={<span className="quiet">that held your jobs in the last hour, or ask for them</span>}>
      <Loaded read={read} what="Workers">
        {({ workers }) =>
          workers.length === 0 ? (
            <Empty
              icon="workers"
              title="No worker yet"
              curl={curlOf({
                method: 'POST',
                path: '/queues/mail/lease',
                body: '{"worker_id":"me","slots":4,"wait_secs":20}',
              })}
            >
              A worker appears here when it asks for jobs of a queue of yours. With the worker token, this takes one
              from the queue mail; libraries for TypeScript and Python do it for you:
            </Empty>
          ) : (
            <div className="panel">
              {worker !== undefined && !workers.some(({ worker_id }) => worker_id === worker) && (
                <p className="quiet body">{worker} has not held a job in the last hour, and asks for none.</p>
              )}
              <WorkerTable workers={workers} chosen={worker} />
            </div>
          )
        }
      </Loaded>
    </Page>
  );
}
