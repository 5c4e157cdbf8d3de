import type { Operation } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { refresh, useRead } from '../../api/hooks.js';
import { Confirm } from '../../components/dialogs/confirm.js';
import { Link } from '../../components/links.js';
import { Loaded } from '../../components/notes.js';
import { Facts, Page, Panel } from '../../components/page.js';
import { Progress } from '../../components/progress.js';
import { State } from '../../components/state.js';
import { ExactTime } from '../../components/time.js';
import { atLeast, number, plural } from '../../lib/format.js';
import { useMayWrite } from '../../session/session.js';
import { actionWords, filterWords, partDone } from './operation-words.js';
import { useParam } from '../../lib/routing.js';

export default function OperationPage(): ReactNode {
  const id = useParam();
  const read = useRead<Operation>(`/operations/${encodeURIComponent(id)}`, { keepPrevious: false });
  const operation = read.data;
  return (
    <Page
      title={operation === undefined ? 'Operation' : actionWords(operation)}
      aside={operation !== undefined && <State state={operation.status} />}
      actions={operation?.status === 'running' && <StopButton operation={operation} />}
    >
      <Loaded read={read} what="Operation">
        {(data) => <OperationView operation={data} />}
      </Loaded>
    </Page>
  );
}

function OperationView({ operation }: { readonly operation: Operation }): ReactNode {
  const { matched, done, changed, skipped, created_at, completed_at } = operation;
  return (
    <>
      <Panel title="Progress">
        <div className="body stack">
          <Progress part={partDone(operation)} label="Done" />
          <p className="figures">
            {number(done)} of {atLeast(matched)} looked at, {number(changed)} changed, {number(skipped)} needed no
            change.
          </p>
        </div>
      </Panel>
      {operation.action === 'replay_dead_letters' && <Outcome operation={operation} />}
      <Panel title="Details">
        <Facts
          facts={[
            ['works on', filterWords(operation)],
            ['requested', <ExactTime key="requested" at={created_at} />],
            ['ended', <ExactTime key="ended" at={completed_at} />],
            [
              'id',
              <span key="id" className="mono">
                {operation.id}
              </span>,
            ],
          ]}
        />
      </Panel>
    </>
  );
}

/** Did the replay help? */
function Outcome({ operation: { outcome, changed } }: { readonly operation: Operation }): ReactNode {
  const { completed, failed, unfinished } = outcome;
  const verdict =
    changed === 0
      ? 'Nothing has been replayed yet.'
      : unfinished > 0
        ? `${plural(unfinished, 'replayed job')} still to end.`
        : failed === 0
          ? 'It helped: every replayed job has completed.'
          : completed === 0
            ? 'It did not help: every replayed job failed again.'
            : 'It helped in part.';
  return (
    <Panel title="Did it help?">
      <div className="body stack">
        <p>{verdict}</p>
        <ul className="tiles" aria-label="Replayed jobs">
          <li>
            <Tile state="completed" n={completed} />
          </li>
          <li>
            <Tile state="failed" n={failed} words="failed again" />
          </li>
          <li>
            <Tile state="running" n={unfinished} words="not ended" />
          </li>
        </ul>
        <Link to="/dead-letters">Dead letters, by group</Link>
      </div>
    </Panel>
  );
}

interface TileProps {
  readonly state: 'completed' | 'failed' | 'running';
  readonly n: number;
  readonly words?: string;
}

const Tile = ({ state, n, words }: TileProps): ReactNode => (
  <div className="tile">
    <State state={state}>{words}</State>
    <span className="figure">{number(n)}</span>
  </div>
);

function StopButton({ operation }: { readonly operation: Operation }): ReactNode {
  const [open, setOpen] = useState(false);
  const mayWrite = useMayWrite();
  if (!mayWrite) return null;
  const request: Change = { method: 'POST', path: `/operations/${operation.id}/stop` };
  return (
    <>
      <button type="button" className="button danger" onClick={() => setOpen(true)}>
        Stop…
      </button>
      {open && (
        <Confirm
          title={`Stop: ${actionWords(operation)}`}
          verb="Stop"
          danger
          request={request}
          onConfirm={() => change(request).then(refresh)}
          onClose={() => setOpen(false)}
        >
          <p>What it has changed stays changed. It cannot be resumed.</p>
        </Confirm>
      )}
    </>
  );
}
