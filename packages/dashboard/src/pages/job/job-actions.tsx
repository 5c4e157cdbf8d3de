import type { DeadLetterPage, Job, JobCreated } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { refresh, useRead } from '../../api/hooks.js';
import { CopyButton } from '../../components/copy.js';
import { Confirm } from '../../components/dialogs/confirm.js';
import { say, sayError } from '../../components/toasts.js';
import { serverNow } from '../../lib/clock.js';
import { curlOf } from '../../api/curl.js';
import { shortId } from '../../lib/format.js';
import { createTextOf } from '../../lib/json/job-text.js';
import { hasEnded } from '../../lib/states.js';
import { useMayWrite } from '../../session/session.js';
import { newUuid } from '../../lib/uuid.js';
import { go } from '../../lib/routing.js';

/** What can be done with a job in its state. */
export function JobActions({ job, text }: { readonly job: Job; readonly text: string }): ReactNode {
  const mayWrite = useMayWrite();
  const isLater = job.status === 'retrying' || (job.status === 'pending' && Date.parse(job.scheduled_at) > serverNow());
  // Only what it waits for ends a wait; a sleep ends when somebody says so.
  const { signal = null, children = null } = job.waiting_for ?? {};
  const waits = isLater && signal === null && children === null;
  return (
    <>
      {mayWrite && job.status === 'failed' && <ReplayButton job={job} />}
      {mayWrite && waits && <RunNowButton job={job} />}
      {mayWrite && <RunAgainButton job={job} />}
      {mayWrite && !hasEnded(job.status) && <CancelButton job={job} />}
      <CopyButton
        text={() => curlOf(copyOf(text))}
        label="Copy as curl"
        title="The command that creates the same job"
      />
    </>
  );
}

const copyOf = (text: string): Change => ({ method: 'POST', path: '/jobs', body: createTextOf(text) });

/** At once: the copy can be cancelled. */
function RunAgainButton({ job }: { readonly job: Job }): ReactNode {
  const [busy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      const idempotencyKey = newUuid();
      const created = await change<JobCreated>({ method: 'POST', path: `/jobs/${job.id}/rerun`, idempotencyKey });
      const id = created?.job_id ?? '';
      say(`Created a copy of ${shortId(job.id)}`, [
        { label: 'Open', run: () => go(`/jobs/${id}`) },
        {
          label: 'Undo',
          run: () => void change(cancelOf(id)).then(() => say(`Cancelled the copy ${shortId(id)}`), sayError),
        },
      ]);
    } catch (error) {
      sayError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <button type="button" className="button" disabled={busy} onClick={() => void run()}>
      Run again
    </button>
  );
}

const cancelOf = (id: string): Change => ({ method: 'POST', path: `/jobs/${id}/cancel` });

function RunNowButton({ job }: { readonly job: Job }): ReactNode {
  const request: Change = { method: 'POST', path: `/jobs/${job.id}/run-now` };
  return (
    <Asking label="Run now…" title={`Run ${job.task_name} now`} verb="Run now" request={request}>
      It becomes due now, instead of when it was scheduled.
    </Asking>
  );
}

function CancelButton({ job }: { readonly job: Job }): ReactNode {
  return (
    <Asking label="Cancel…" title={`Cancel ${job.task_name}`} verb="Cancel the job" request={cancelOf(job.id)} danger>
      {job.status === 'running'
        ? 'Its worker finds out at its next heartbeat; anything it has done by then is not undone.'
        : 'It will not run. This cannot be undone.'}
    </Asking>
  );
}

/** A failed job is replayed through its dead letter. */
function ReplayButton({ job }: { readonly job: Job }): ReactNode {
  const letters = useRead<DeadLetterPage>('/dlq', { query: { job_id: job.id }, pollMs: null });
  const letter = letters.data?.dead_letters[0];
  if (letter === undefined) return null;
  const replay = letter.replay_job_id;
  if (replay !== null) {
    return (
      <button type="button" className="button" onClick={() => go(`/jobs/${replay}`)}>
        Replayed: open
      </button>
    );
  }
  const request: Change = { method: 'POST', path: `/dlq/${letter.id}/replay` };
  const onAnswer = (answer: unknown): void => {
    const id = (answer as JobCreated | null)?.job_id;
    if (id !== undefined) go(`/jobs/${id}`);
  };
  return (
    <Asking
      label="Replay…"
      title={`Replay ${job.task_name}`}
      verb="Replay"
      request={request}
      primary
      onAnswer={onAnswer}
    >
      A new job with the same payload is created. A dead letter can be replayed once.
    </Asking>
  );
}

interface AskingProps {
  readonly label: string;
  readonly title: string;
  readonly verb: string;
  readonly request: Change;
  readonly danger?: boolean;
  readonly primary?: boolean;
  readonly onAnswer?: (answer: unknown) => void;
  readonly children: ReactNode;
}

/** A button that asks first. */
function Asking({
  label,
  title,
  verb,
  request,
  danger = false,
  primary = false,
  onAnswer,
  children,
}: AskingProps): ReactNode {
  const [open, setOpen] = useState(false);
  const confirm = async (): Promise<void> => {
    const answer = await change(request);
    await refresh();
    onAnswer?.(answer);
  };
  return (
    <>
      <button type="button" className={primary ? 'button primary' : 'button'} onClick={() => setOpen(true)}>
        {label}
      </button>
      {open && (
        <Confirm
          title={title}
          verb={verb}
          danger={danger}
          request={request}
          onConfirm={confirm}
          onClose={() => setOpen(false)}
        >
          <p>{children}</p>
        </Confirm>
      )}
    </>
  );
}
