import type { Workers } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Loaded } from '../../components/notes.js';
import { Panel } from '../../components/page.js';
import { WorkerTable } from '../../components/tables/worker-table.js';

/** Are there enough workers: those that held the caller's jobs of this queue in the last hour, or ask for them. */
export function QueueWorkers({ queue }: { readonly queue: string }): ReactNode {
  const read = useRead<Workers>('/workers');
  return (
    <Panel title="Workers" aside={<span className="quiet">of the last hour</span>}>
      <Loaded read={read} what="Workers">
        {({ workers }) => {
          const own = workers.filter(({ queue_name }) => queue_name === queue);
          if (own.length === 0)
            return (
              <p className="quiet">No worker asks for jobs of this queue, and none has held one in the last hour.</p>
            );
          return <WorkerTable workers={own} withoutQueue />;
        }}
      </Loaded>
    </Panel>
  );
}
