import type { Job, JobCreated, Tasks } from '@millrace/contract';
import { useNavigate } from '@tanstack/react-router';
import { useId, useState, type FormEvent, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { refresh, useRead } from '../../api/hooks.js';
import { CurlDetails, Dialog } from '../../components/dialogs/dialog.js';
import { ErrorNote } from '../../components/notes.js';
import { useAddress } from '../../lib/address.js';
import { objectOf } from '../../lib/json/slice.js';
import { useWho } from '../../session/session.js';

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
  const { default_queue } = useWho();
  const [draft, setDraft] = useState<Draft>({ ...EMPTY, task: address.task ?? '', queue: address.queue ?? '' });
  const [key, setKey] = useState(() => crypto.randomUUID() as string);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const tasks = useRead<Tasks>('/tasks', { pollMs: null }).data?.data.tasks ?? [];
  const navigate = useNavigate();
  const list = useId();
  const set = (patch: Partial<Draft>): void => {
    setDraft({ ...draft, ...patch });
    // Another job, so another key: the old one would answer with the old job.
    setKey(crypto.randomUUID());
  };
  const problem = problemOf(draft);
  const request: Change = { method: 'POST', path: '/jobs', body: bodyOf(draft), idempotencyKey: key };
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (problem !== null || busy) return;
    setBusy(true);
    setError(null);
    try {
      const created = await change<JobCreated>(request);
      await refresh();
      if (created !== null) await navigate({ to: '/jobs/$id', params: { id: created.job_id satisfies Job['id'] } });
    } catch (reason) {
      setBusy(false);
      setError(reason instanceof Error ? reason : new Error(String(reason)));
    }
  };
  return (
    <Dialog title="New job" onClose={onClose} wide>
      <form className="stack" onSubmit={(event) => void submit(event)}>
        <div className="fields">
          <label>
            Task
            <input
              className="input"
              value={draft.task}
              onChange={(event) => set({ task: event.target.value })}
              list={list}
              required
            />
            <datalist id={list}>
              {tasks.map((task) => (
                <option key={task} value={task} />
              ))}
            </datalist>
          </label>
          <Field label="Queue" value={draft.queue} placeholder={default_queue} onChange={(queue) => set({ queue })} />
          <Field
            label="Delay, seconds"
            numeric
            value={draft.delay}
            placeholder="0"
            onChange={(delay) => set({ delay })}
          />
        </div>
        <JsonField label="Payload" rows={6} value={draft.payload} onChange={(payload) => set({ payload })} />
        <details>
          <summary className="quiet">Policy and metadata</summary>
          <div className="stack">
            <div className="fields">
              <Field
                label="Priority"
                numeric
                value={draft.priority}
                placeholder="0"
                onChange={(priority) => set({ priority })}
              />
              <Field
                label="Retries"
                numeric
                value={draft.maxRetries}
                placeholder="3"
                onChange={(maxRetries) => set({ maxRetries })}
              />
              <Field
                label="Timeout, seconds"
                numeric
                value={draft.timeout}
                placeholder="300"
                onChange={(timeout) => set({ timeout })}
              />
            </div>
            <JsonField label="Metadata" rows={3} value={draft.metadata} onChange={(metadata) => set({ metadata })} />
          </div>
        </details>
        {problem !== null && draft.task !== '' && <p className="quiet">{problem}</p>}
        {error !== null && <ErrorNote error={error} />}
        <CurlDetails request={request} />
        <footer>
          <button type="button" className="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" className="button primary" disabled={busy || problem !== null}>
            {busy ? 'Creating…' : 'Create job'}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
  readonly numeric?: boolean;
}

const Field = ({ label, value, onChange, placeholder, numeric = false }: FieldProps): ReactNode => (
  <label>
    {label}
    <input
      className="input"
      value={value}
      placeholder={placeholder}
      inputMode={numeric ? 'numeric' : undefined}
      onChange={(event) => onChange(event.target.value)}
    />
  </label>
);

interface JsonFieldProps {
  readonly label: string;
  readonly rows: number;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const JsonField = ({ label, rows, value, onChange }: JsonFieldProps): ReactNode => (
  <label>
    {label}
    <textarea
      className="input"
      rows={rows}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      spellCheck={false}
    />
  </label>
);

/** What keeps the draft from being sent, or null. The server has the last word on everything else. */
function problemOf({ task, payload, metadata, ...numbers }: Draft): string | null {
  if (task.trim() === '') return 'A job needs the name of its task.';
  for (const [name, text] of Object.entries({ payload, metadata })) {
    if (text.trim() !== '' && !isObject(text)) return `The ${name} is not a JSON object.`;
  }
  const { delay, priority, maxRetries, timeout } = numbers;
  const whole = [delay, priority, maxRetries, timeout].every((text) => /^\s*(-?\d+)?\s*$/.test(text));
  return whole ? null : 'Delay, priority, retries and timeout are whole numbers.';
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

function bodyOf(draft: Draft): string {
  const text = (value: string): string | undefined => (value.trim() === '' ? undefined : JSON.stringify(value.trim()));
  const raw = (value: string): string | undefined => (value.trim() === '' ? undefined : value.trim());
  const config = objectOf({
    queue: text(draft.queue),
    priority: raw(draft.priority),
    max_retries: raw(draft.maxRetries),
    timeout_secs: raw(draft.timeout),
  });
  return objectOf({
    task_name: text(draft.task),
    payload: raw(draft.payload),
    config: config === '{}' ? undefined : config,
    delay_secs: raw(draft.delay),
    metadata: raw(draft.metadata),
  });
}
