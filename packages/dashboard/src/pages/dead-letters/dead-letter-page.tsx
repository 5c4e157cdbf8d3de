import type { Attempts, DeadLetter, Job } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { refresh, useRead } from '../../api/hooks.js';
import { AttemptList } from '../../components/attempt-list.js';
import { CopyButton } from '../../components/copy.js';
import { RawJson } from '../../components/json/json.js';
import { JobLink, Link, QueueLink } from '../../components/links.js';
import { Loaded } from '../../components/notes.js';
import { Facts, Page, Panel } from '../../components/page.js';
import { State } from '../../components/state.js';
import { ExactTime, Time } from '../../components/time.js';
import { say, sayError } from '../../components/toasts.js';
import { curlOf } from '../../api/curl.js';
import { bytes } from '../../lib/format.js';
import { memberText } from '../../lib/json/spans.js';
import { useMayWrite } from '../../session/session.js';
import { REASONS } from '../../lib/dead-letter-reasons.js';
import { newUuid } from '../../lib/uuid.js';
import './dead-letter.css';
import { useParam } from '../../lib/routing.js';

/** Whatever the job was, it has failed. */
const FAILED = { status: 'failed' } as const;

/** One dead letter: why, every attempt, and what came of the replay. */
export default function DeadLetterPage(): ReactNode {
  const id = useParam();
  const read = useRead<DeadLetter>(`/dlq/${encodeURIComponent(id)}`, { keepPrevious: false });
  const entry = read.data;
  return (
    <Page
      title={`Dead letter ${id}`}
      aside={
        entry !== undefined && (
          <State state={entry.replayed_at === null ? 'failed' : 'replayed'}>
            {entry.replayed_at === null ? 'open' : 'replayed'}
          </State>
        )
      }
      actions={entry !== undefined && <ReplayButton entry={entry} />}
    >
      <Loaded read={read} what="This dead letter">
        {(letter) => <Entry entry={letter} />}
      </Loaded>
    </Page>
  );
}

/** Replaying one entry needs no question: it makes one job, which can be cancelled. */
function ReplayButton({ entry }: { readonly entry: DeadLetter }): ReactNode {
  const mayWrite = useMayWrite();
  const [isBusy, setBusy] = useState(false);
  const [idempotencyKey] = useState(newUuid);
  if (!mayWrite || entry.replayed_at !== null) return null;
  const request: Change = { method: 'POST', path: `/dlq/${entry.id}/replay`, idempotencyKey };
  const replay = (): void => {
    setBusy(true);
    change(request)
      .then(async () => {
        say(`Dead letter ${entry.id} was replayed.`);
        await refresh();
      })
      .catch(sayError)
      .finally(() => setBusy(false));
  };
  return (
    <>
      <button type="button" className="button primary" disabled={isBusy} onClick={replay}>
        Replay
      </button>
      <CopyButton text={() => curlOf(request)} label="Copy as curl" title="The command that replays it" />
    </>
  );
}

function Entry({ entry }: { readonly entry: DeadLetter }): ReactNode {
  return (
    <>
      <pre className="error-text tone-red">{entry.error_message ?? 'no message'}</pre>
      <Panel title={entry.task_name}>
        <Facts
          facts={[
            ['reason', REASONS[entry.reason]],
            ['queue', <QueueLink queue={entry.queue_name} />],
            ['failed', <ExactTime at={entry.created_at} />],
            ['retries used', entry.retry_count ?? '–'],
            ['payload', entry.payload_bytes === null ? 'removed by retention' : bytes(entry.payload_bytes)],
            ['job', <JobLink id={entry.job_id} />],
            [
              'same error',
              <Link to="/dead-letters" search={{ fingerprint: entry.fingerprint }}>
                all of its group
              </Link>,
            ],
          ]}
        />
      </Panel>
      {entry.replay_job_id !== null && <ReplayOutcome id={entry.replay_job_id} at={entry.replayed_at} />}
      <AttemptsPanel jobId={entry.job_id} />
      <Payload jobId={entry.job_id} />
    </>
  );
}

/** Whether the replay helped. */
function ReplayOutcome({ id, at }: { readonly id: string; readonly at: string | null }): ReactNode {
  const read = useRead<Job>(`/jobs/${id}`);
  return (
    <Panel title="Replay" aside={<Time at={at} />}>
      <Loaded read={read} what="The new job">
        {({ status }) => (
          <div className="row body">
            <State state={status} /> <JobLink id={id} />
          </div>
        )}
      </Loaded>
    </Panel>
  );
}

function AttemptsPanel({ jobId }: { readonly jobId: string }): ReactNode {
  const read = useRead<Attempts>(`/jobs/${jobId}/attempts`, { pollMs: null });
  return (
    <Panel title="Attempts">
      <AttemptList job={FAILED} read={read} />
    </Panel>
  );
}

function Payload({ jobId }: { readonly jobId: string }): ReactNode {
  const read = useRead<Job>(`/jobs/${jobId}`, { pollMs: null });
  return (
    <Panel title="Payload">
      <Loaded read={read} what="The job">
        {(_job, text) => <RawJson label="Payload" text={memberText(text, 'payload') ?? '{}'} />}
      </Loaded>
    </Panel>
  );
}
