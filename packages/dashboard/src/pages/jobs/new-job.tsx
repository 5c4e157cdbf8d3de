import type { JobCreated, JobSummary, Tasks } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { refresh, useRead } from '../../api/hooks.js';
import { FormDialog } from '../../components/dialogs/form-dialog.js';
import { JsonField, TextField } from '../../components/forms/fields.js';
import { isObjectText, objectOf, typedString, typedText } from '../../lib/json/slice.js';
import { useWho } from '../../session/session.js';
import { newUuid } from '../../lib/uuid.js';
import { go, useAddress } from '../../lib/routing.js';

interface Draft {
  readonly task: string;
  readonly queue: string;
  readonly payload: string;
  readonly metadata: string;
  readonly delay: string;
  readonly priority: string;
  readonly maxRetries: string;
  readonly timeout: string;
}

const EMPTY: Draft = {
  task: '',
  queue: '',
  payload: '{}',
  metadata: '',
  delay: '',
  priority: '',
  maxRetries: '',
  timeout: '',
};

/** Creates a job. Payload and metadata are sent as they are written, never parsed and printed again. */
export default function NewJob({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [address] = useAddress();
  const [draft, setDraft] = useState<Draft>({ ...EMPTY, task: address.task ?? '', queue: address.queue ?? '' });
  const [key, setKey] = useState(newUuid);
  const set = (patch: Partial<Draft>): void => {
    setDraft({ ...draft, ...patch });
    // Another job, so another key: the old one would answer with the old job.
    setKey(newUuid());
  };
  const problem = problemOf(draft);
  const request: Change = { method: 'POST', path: '/jobs', body: bodyOf(draft), idempotencyKey: key };
  const create = async (): Promise<void> => {
    const created = await change<JobCreated>(request);
    await refresh();
    if (created !== null) go(`/jobs/${created.job_id}`);
  };
  return (
    <FormDialog
      title="New job"
      verb="Create job"
      doing="Creating…"
      request={request}
      mayGo={problem === null}
      onSubmit={create}
      onClose={onClose}
      wide
    >
      <MainFields draft={draft} set={set} />
      <JsonField label="Payload" rows={6} value={draft.payload} onChange={(payload) => set({ payload })} />
      <details>
        <summary className="quiet">Policy and metadata</summary>
        <div className="stack">
          <PolicyFields draft={draft} set={set} />
          <JsonField label="Metadata" rows={3} value={draft.metadata} onChange={(metadata) => set({ metadata })} />
        </div>
      </details>
      {problem !== null && draft.task !== '' && <p className="quiet">{problem}</p>}
    </FormDialog>
  );
}

interface FieldsProps {
  readonly draft: Draft;
  readonly set: (patch: Partial<Draft>) => void;
}

function MainFields({ draft, set }: FieldsProps): ReactNode {
  const { default_queue } = useWho();
  const tasks = useRead<Tasks>('/tasks', { pollMs: null }).data?.tasks;
  // Looked for when somebody has written the whole name, not letter by letter.
  const [task, setTask] = useState(draft.task.trim());
  const before = useQueuesOf(task);
  const isDefault = [default_queue, ''].includes(draft.queue.trim());
  const isStranger = tasks !== undefined && task !== '' && task === draft.task.trim() && !tasks.includes(task);
  return (
    <>
      <div className="fields">
        <TextField
          label="Task"
          value={draft.task}
          onChange={(name) => set({ task: name })}
          onBlur={() => setTask(draft.task.trim())}
          list="new-job-tasks"
          required
        />
        <Suggestions id="new-job-tasks" values={tasks ?? []} />
        <TextField
          label="Queue"
          value={draft.queue}
          placeholder={default_queue}
          onChange={(queue) => set({ queue })}
          list="new-job-queues"
        />
        <Suggestions id="new-job-queues" values={before} />
        <NumberField label="Delay, seconds" name="delay" placeholder="0" draft={draft} set={set} />
      </div>
      {isStranger && isDefault && (
        <p className="note tone-amber" role="status">
          <span>
            No server process has registered the task {task}; remote workers lease from queues that you name.
            {before.length > 0 && ' Its jobs were on other queues before: '}
            {before.map((queue) => (
              <button key={queue} type="button" className="button small" onClick={() => set({ queue })}>
                {queue}
              </button>
            ))}
          </span>
        </p>
      )}
    </>
  );
}

const Suggestions = ({ id, values }: { readonly id: string; readonly values: readonly string[] }): ReactNode => (
  <datalist id={id}>
    {values.map((value) => (
      <option key={value} value={value} />
    ))}
  </datalist>
);

/** How many of the last jobs of a task are looked at. */
const LOOKED_AT = 100;

/** The queues that the last jobs of a task were on, but for the default one. */
function useQueuesOf(task: string): readonly string[] {
  const { default_queue } = useWho();
  const query = { task, view: 'summary', limit: LOOKED_AT };
  const { data } = useRead<{ jobs: JobSummary[] }>('/jobs', { query, enabled: task !== '', pollMs: null });
  const queues = new Set(task === '' ? [] : data?.jobs.map(({ queue_name: queue }) => queue));
  queues.delete(default_queue);
  return [...queues];
}

const PolicyFields = (fields: FieldsProps): ReactNode => (
  <div className="fields">
    <NumberField label="Priority" name="priority" placeholder="0" {...fields} />
    <NumberField label="Retries" name="maxRetries" placeholder="3" {...fields} />
    <NumberField label="Timeout, seconds" name="timeout" placeholder="300" {...fields} />
  </div>
);

interface NumberFieldProps extends FieldsProps {
  readonly label: string;
  readonly name: 'delay' | 'priority' | 'maxRetries' | 'timeout';
  /** The default. */
  readonly placeholder: string;
}

const NumberField = ({ label, name, placeholder, draft, set }: NumberFieldProps): ReactNode => (
  <TextField
    label={label}
    inputMode="numeric"
    value={draft[name]}
    placeholder={placeholder}
    onChange={(value) => set({ [name]: value })}
  />
);

/** What keeps the draft from being sent, or null. The server has the last word on everything else. */
function problemOf({ task, payload, metadata, ...numbers }: Draft): string | null {
  if (task.trim() === '') return 'A job needs the name of its task.';
  for (const [name, text] of Object.entries({ payload, metadata })) {
    if (text.trim() !== '' && !isObjectText(text)) return `The ${name} is not a JSON object.`;
  }
  const { delay, priority, maxRetries, timeout } = numbers;
  const whole = [delay, priority, maxRetries, timeout].every((text) => /^\s*(-?\d+)?\s*$/.test(text));
  return whole ? null : 'Delay, priority, retries and timeout are whole numbers.';
}

function bodyOf(draft: Draft): string {
  const config = objectOf({
    queue: typedString(draft.queue),
    priority: typedText(draft.priority),
    max_retries: typedText(draft.maxRetries),
    timeout_secs: typedText(draft.timeout),
  });
  return objectOf({
    task_name: typedString(draft.task),
    payload: typedText(draft.payload),
    config: config === '{}' ? undefined : config,
    delay_secs: typedText(draft.delay),
    metadata: typedText(draft.metadata),
  });
}
