import type { CronPreview } from '@millrace/contract';
import { useEffect, useState, type FormEvent, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { refresh, useRead } from '../../api/hooks.js';
import { CurlDetails, Dialog } from '../../components/dialogs/dialog.js';
import { ErrorNote } from '../../components/notes.js';
import { ExactTime } from '../../components/time.js';
import { say } from '../../components/toasts.js';
import { useAddress } from '../../lib/address.js';
import { objectOf } from '../../lib/json/slice.js';
import { wordsOf } from './words.js';

/** A schedule as the fields hold it; payload and policy are JSON texts. */
export interface Draft {
  readonly name: string;
  readonly expression: string;
  readonly timezone: string;
  readonly task: string;
  readonly queue: string;
  readonly payload: string;
  readonly config: string;
}

const NEW: Draft = {
  name: '',
  expression: '0 3 * * *',
  timezone: 'UTC',
  task: '',
  queue: '',
  payload: '{}',
  config: '{}',
};

const FIELDS: readonly (readonly [keyof Draft, string, string])[] = [
  ['name', 'Name', 'nightly-report'],
  ['expression', 'Expression', '0 3 * * *'],
  ['timezone', 'Time zone', 'UTC'],
  ['task', 'Task', 'build_report'],
  ['queue', 'Queue', 'the default queue'],
];

interface EditDialogProps {
  /** Null: a new schedule. */
  readonly draft: Draft | null;
  readonly onClose: () => void;
}

/** Creates a schedule, or replaces the one of the same name, and shows when it would fire. */
export function EditDialog({ draft, onClose }: EditDialogProps): ReactNode {
  const [fields, setFields] = useState(draft ?? NEW);
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [, setAddress] = useAddress();
  const request = requestOf(fields, draft !== null);
  const invalid = (['payload', 'config'] as const).find((name) => !isObject(fields[name]));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    change(request)
      .then(async () => {
        say(`${fields.name} is ${draft === null ? 'created' : 'changed'}.`);
        await refresh();
        onClose();
        setAddress({ name: fields.name, new: undefined });
      })
      .catch((reason: unknown) => setError(reason instanceof Error ? reason : new Error(String(reason))))
      .finally(() => setBusy(false));
  };
  const set = (name: keyof Draft, value: string): void => setFields({ ...fields, [name]: value });
  return (
    <Dialog title={draft === null ? 'New schedule' : `Edit ${draft.name}`} onClose={onClose} wide>
      <form className="stack" onSubmit={submit}>
        <div className="fields">
          {FIELDS.map(([name, label, placeholder]) => (
            <label key={name}>
              {label}
              <input
                className="input"
                value={fields[name]}
                placeholder={placeholder}
                disabled={name === 'name' && draft !== null}
                required={name !== 'queue' && name !== 'timezone'}
                onChange={(event) => set(name, event.target.value)}
                autoComplete="off"
                spellCheck={false}
              />
            </label>
          ))}
        </div>
        <Preview expression={fields.expression} timezone={fields.timezone} />
        {(['payload', 'config'] as const).map((name) => (
          <label key={name}>
            {name === 'payload' ? 'Payload (JSON)' : 'Policy (JSON): max_retries, timeout_secs, priority …'}
            <textarea
              className="input"
              rows={name === 'payload' ? 5 : 2}
              value={fields[name]}
              aria-invalid={invalid === name}
              onChange={(event) => set(name, event.target.value)}
              spellCheck={false}
            />
          </label>
        ))}
        {invalid !== undefined && (
          <p role="status">The {invalid === 'config' ? 'policy' : invalid} is not a JSON object yet.</p>
        )}
        {error !== null && <ErrorNote error={error} />}
        <CurlDetails request={request} />
        <footer>
          <button type="button" className="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" className="button primary" disabled={isBusy || invalid !== undefined}>
            {draft === null ? 'Create' : 'Save'}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** Payload and policy go in as texts: numbers arrive as they were typed. */
function requestOf(fields: Draft, isEdit: boolean): Change {
  const text = (value: string): string | undefined => (value.trim() === '' ? undefined : JSON.stringify(value.trim()));
  const body = objectOf({
    name: isEdit ? undefined : text(fields.name),
    cron_expr: text(fields.expression),
    timezone: text(fields.timezone),
    task_name: text(fields.task),
    queue: text(fields.queue),
    payload: fields.payload,
    config: fields.config,
  });
  return isEdit
    ? { method: 'PUT', path: `/cron/${encodeURIComponent(fields.name)}`, body }
    : { method: 'POST', path: '/cron', body };
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

const PAUSE_MS = 300;

/** The expression in words and its next five instants, by the server, as it is typed. */
function Preview({ expression, timezone }: { readonly expression: string; readonly timezone: string }): ReactNode {
  const [settled, setSettled] = useState({ expression, timezone });
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled({ expression, timezone }), PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [expression, timezone]);
  const read = useRead<CronPreview>('/cron/preview', {
    query: { expr: settled.expression.trim(), timezone: settled.timezone.trim() },
    pollMs: null,
    enabled: settled.expression.trim() !== '',
    keepPrevious: false,
  });
  return (
    <div className="preview" aria-live="polite">
      <p>
        <b>{wordsOf(settled.expression) ?? 'No words for this expression'}</b>
      </p>
      {read.error !== null && <p className="tone-red preview-error">{read.error.message}</p>}
      <ol className="plain-list">
        {read.data?.data.next.map((at) => (
          <li key={at}>
            <ExactTime at={at} />
          </li>
        ))}
      </ol>
    </div>
  );
}
