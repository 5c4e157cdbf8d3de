import type { Attempt, Attempts, JobStatus } from '@millrace/contract';
import type { ReactNode } from 'react';
import type { Read } from '../api/hooks.js';
import { CopyButton } from './copy.js';
import { WorkerLink } from './links.js';
import { Loaded } from './notes.js';
import { State } from './state.js';
import { Time } from './time.js';
import { useNow } from '../lib/clock.js';
import { duration, plural } from '../lib/format.js';

interface AttemptListProps {
  readonly job: { readonly status: JobStatus };
  readonly read: Read<Attempts>;
}

/** Every attempt: who ran it, when it began, how long it took, and what went wrong, with the stack. */
export function AttemptList({ job, read }: AttemptListProps): ReactNode {
  return (
    <Loaded read={read} what="Attempts">
      {({ attempts, omitted }) => {
        if (attempts.length === 0) return <p className="quiet body">No worker has claimed this job yet.</p>;
        const last = attempts.at(-1);
        const newestFirst = [...attempts].reverse();
        return (
          <ol className="attempts">
            {newestFirst.map((attempt) => (
              <AttemptView
                key={attempt.number}
                attempt={attempt}
                open={attempt === last && job.status !== 'completed'}
              />
            ))}
            {omitted > 0 && <li className="quiet">{plural(omitted, 'attempt')} in the middle not kept.</li>}
          </ol>
        );
      }}
    </Loaded>
  );
}

function AttemptView({ attempt, open }: { readonly attempt: Attempt; readonly open: boolean }): ReactNode {
  const now = useNow();
  const { number, outcome, worker_id, started_at, ended_at, error_message, error_details } = attempt;
  const end = ended_at === null ? now : Date.parse(ended_at);
  const stack = error_details?.stack ?? null;
  return (
    <li>
      <div className="attempt">
        <b className="figures">#{number}</b>
        <State state={outcome} />
        <span className="cut">
          {worker_id === null ? <span className="quiet">worker not recorded</span> : <WorkerLink id={worker_id} />}
        </span>
        <span>
          began <Time at={started_at} />
        </span>
        <span className="figures">{started_at === null ? '' : `took ${duration(end - Date.parse(started_at))}`}</span>
      </div>
      {error_message !== null && (
        <p className="attempt-error">
          {error_details?.name !== undefined && error_details.name !== null && <b>{error_details.name}: </b>}
          {error_message}
        </p>
      )}
      {stack !== null && (
        <details className="stack-trace" open={open}>
          <summary>Stack</summary>
          <div className="command">
            <pre tabIndex={0} aria-label={`Stack of attempt ${number}`}>
              {stack}
            </pre>
            <CopyButton text={stack} />
          </div>
        </details>
      )}
    </li>
  );
}
