import type { Cron, NextRuns } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { refreshWithout, useRead } from '../../api/hooks.js';
import { Confirm } from '../../components/dialogs/confirm.js';
import { Icon } from '../../components/icon.js';
import { RawJson } from '../../components/json/json.js';
import { ErrorNote, Loaded } from '../../components/notes.js';
import { Facts, Panel } from '../../components/page.js';
import { ExactTime, Time } from '../../components/time.js';
import { say } from '../../components/toasts.js';
import { useNow } from '../../lib/clock.js';
import { useMayWrite } from '../../session/session.js';
import { useCronActions } from './actions.js';
import { FiringLink } from './firing-link.js';
import { kindInWords, FiringStrip } from './firing-strip.js';
import { useFirings } from './use-firings.js';
import { wordsOf } from './words.js';
import { Link, QueueLink } from '../../components/links.js';

interface DetailsProps {
  readonly cron: Cron;
  readonly payload: string;
  readonly config: string;
  readonly onEdit: () => void;
  readonly onClose: () => void;
}

/** All that is kept: a thousand firings. */
const ALL_PAGES = 10;
const FIRINGS_LISTED = 10;

export function CronDetails({ cron, payload, config, onEdit, onClose }: DetailsProps): ReactNode {
  const next = useRead<NextRuns>(`/cron/${cron.id}/next`, { query: { count: 5 }, pollMs: 10_000 });
  return (
    <Panel title={cron.name} aside={<DetailActions cron={cron} onEdit={onEdit} onClose={onClose} />}>
      <Facts
        facts={[
          ['expression', <span className="mono">{cron.cron_expr}</span>],
          ['in words', wordsOf(cron.cron_expr) ?? '–'],
          ['time zone', cron.timezone],
          ...whatItStarts(cron),
          ['overlap', cron.overlap === 'skip' ? 'skips while the last firing has not ended' : 'allowed'],
          ['created', <Time at={cron.created_at} />],
        ]}
      />
      <div className="cron-columns">
        <section>
          <h3>{cron.enabled ? 'Next' : 'Next, if it were resumed now'}</h3>
          <Loaded read={next} what="Next occurrences">
            {({ next_run_at }) => (
              <ol className="plain-list">
                {next_run_at.map((at) => (
                  <li key={at}>
                    <ExactTime at={at} unit="s" />
                  </li>
                ))}
                {next_run_at.length === 0 && <li className="quiet">The expression has no further occurrences.</li>}
              </ol>
            )}
          </Loaded>
        </section>
        <FiringList cron={cron} />
      </div>
      <div className="cron-columns">
        <section>
          <h3>Payload</h3>
          <RawJson label="Payload" text={payload} />
        </section>
        <section>
          <h3>Policy</h3>
          <RawJson label="Policy" text={config} />
        </section>
      </div>
    </Panel>
  );
}

function whatItStarts(cron: Cron): (readonly [string, ReactNode])[] {
  if (cron.workflow) return [['workflow', cron.workflow.name]];
  return [
    [
      'task',
      <Link to="/jobs" search={{ task: cron.task_name ?? '' }}>
        {cron.task_name}
      </Link>,
    ],
    ['queue', <QueueLink queue={cron.queue_name ?? ''} />],
  ];
}

function FiringList({ cron }: { readonly cron: Cron }): ReactNode {
  const now = useNow();
  const { firings, error } = useFirings(cron.id, ALL_PAGES);
  if (firings === undefined) return error === null ? null : <ErrorNote error={error} />;
  return (
    <section>
      <h3>Last 24 hours</h3>
      <div className="wide-strip">
        <FiringStrip firings={firings} now={now} isFocusable />
        <div className="strip-scale quiet" aria-hidden="true">
          <span>24 h ago</span>
          <span>12 h</span>
          <span>now</span>
        </div>
      </div>
      <ol className="plain-list">
        {firings.items.slice(0, FIRINGS_LISTED).map(({ occurrence, fired_at, kind, job_id, workflow_id }) => (
          <li key={`${job_id ?? workflow_id} ${occurrence}`}>
            <FiringLink jobId={job_id} workflowId={workflow_id}>
              <Time at={fired_at} />
            </FiringLink>{' '}
            <span className="quiet">{kindInWords(kind)}</span>
          </li>
        ))}
        {firings.items.length === 0 && <li className="quiet">It has never fired.</li>}
      </ol>
    </section>
  );
}

function DetailActions({ cron, onEdit, onClose }: Pick<DetailsProps, 'cron' | 'onEdit' | 'onClose'>): ReactNode {
  const mayWrite = useMayWrite();
  const { trigger, setEnabled } = useCronActions();
  const [isDeleting, setDeleting] = useState(false);
  const request: Change = { method: 'DELETE', path: `/cron/${cron.id}` };
  const remove = async (): Promise<void> => {
    await change(request);
    say(`${cron.name} is deleted.`);
    onClose();
    await refreshWithout(cron.id);
  };
  return (
    <>
      {mayWrite && (
        <>
          <button type="button" className="button small" onClick={() => trigger(cron)}>
            Trigger now
          </button>
          <button type="button" className="button small" onClick={() => setEnabled(cron, !cron.enabled)}>
            {cron.enabled ? 'Pause' : 'Resume'}
          </button>
          <button type="button" className="button small" onClick={onEdit}>
            Edit…
          </button>
          <button type="button" className="button small danger" onClick={() => setDeleting(true)}>
            Delete…
          </button>
        </>
      )}
      <button type="button" className="button small quiet" aria-label="Close the schedule" onClick={onClose}>
        <Icon name="close" />
      </button>
      {isDeleting && (
        <Confirm
          title={`Delete ${cron.name}?`}
          verb={`Delete ${cron.name}`}
          danger
          request={request}
          onConfirm={remove}
          onClose={() => setDeleting(false)}
        >
          <p>The schedule and the list of its firings are removed. The jobs it created stay. This cannot be undone.</p>
        </Confirm>
      )}
    </>
  );
}
