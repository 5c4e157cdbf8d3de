import type { Job, JobCreated, Tasks } from '@millrace/contract';
import { useNavigate } from '@tanstack/react-router';
import { useId, useState, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { refresh, useRead } from '../../api/hooks.js';
import { FormDialog } from '../../components/dialogs/form-dialog.js';
import { JsonField, TextField } from '../../components/forms/fields.js';
import { useAddress } from '../../lib/address.js';
import { isObjectText, objectOf, typedString, typedText } from '../../lib/json/slice.js';
import { useWho } from '../../session/session.js';
import { newUuid } from '../../lib/uuid.js';

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
  const navigate = useNavigate();
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
    if (created !== null) await navigate({ to: '/jobs/$id', params: { id: created.job_id satisfies Job['id'] } });
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
  const tasks = useRead<Tasks>('/tasks', { pollMs: null }).data?.tasks ?? [];
  const list = useId();
  return (
    <div className="fields">
      <TextField label="Task" value={draft.task} onChange={(task) => set({ task })} list={list} required />
      <datalist id={list}>
        {tasks.map((task) => (
          <option key={task} value={task} />
        ))}
      </datalist>
      <TextField label="Queue" value={draft.queue} placeholder={default_queue} onChange={(queue) => set({ queue })} />
      <NumberField label="Delay, seconds" name="delay" placeholder="0" draft={draft} set={set} />
    </div>
  );
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
