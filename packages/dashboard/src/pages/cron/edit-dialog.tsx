import type { CronOverlap, CronPreview } from '@millrace/contract';
import { useEffect, useState, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { refresh, useRead } from '../../api/hooks.js';
import { FormDialog } from '../../components/dialogs/form-dialog.js';
import { JsonField, TextField } from '../../components/forms/fields.js';
import { ExactTime } from '../../components/time.js';
import { say } from '../../components/toasts.js';
import { isObjectText, objectOf, typedString } from '../../lib/json/slice.js';
import { wordsOf } from './words.js';
import { useAddress } from '../../lib/routing.js';

/** A schedule as the fields hold it; payload and policy are JSON texts. */
export interface Draft {
  readonly name: string;
  readonly expression: string;
  readonly timezone: string;
  readonly task: string;
  readonly queue: string;
  readonly payload: string;
  readonly config: string;
  readonly overlap: CronOverlap;
  /** Not null: it starts this workflow, in place of a job. */
  readonly workflow: string | null;
}

const NEW: Draft = {
  name: '',
  expression: '0 3 * * *',
  timezone: 'UTC',
  task: '',
  queue: '',
  payload: '{}',
  config: '{}',
  overlap: 'allow',
  workflow: null,
};

type Field = Exclude<keyof Draft, 'overlap' | 'workflow'>;

const FIELDS: readonly (readonly [Field, string, string])[] = [
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

/** What a schedule says of jobs; one that starts workflows has none of it. */
const OF_JOBS: ReadonlySet<Field> = new Set(['task', 'queue', 'payload', 'config']);

const TEXTS = [
  ['payload', 'Payload (JSON)', 5],
  ['config', 'Policy (JSON): max_retries, timeout_secs, priority …', 2],
  ['workflow', 'Workflow (JSON): name, steps …', 9],
] as const;

/** Creates a schedule, or replaces the one of the same name, and shows when it would fire. */
export function EditDialog({ draft, onClose }: EditDialogProps): ReactNode {
  const [fields, setFields] = useState(draft ?? NEW);
  const [, setAddress] = useAddress();
  const request = requestOf(fields, draft !== null);
  const texts = TEXTS.filter(([name]) => (name === 'workflow') === (fields.workflow !== null));
  const invalid = texts.find(([name]) => !isObjectText(fields[name] ?? ''))?.[0];
  const set = (name: keyof Draft) => (value: string) => setFields({ ...fields, [name]: value });
  const verb = draft === null ? 'Create' : 'Save';
  const save = async (): Promise<void> => {
    await change(request);
    say(`${fields.name} is ${draft === null ? 'created' : 'changed'}.`);
    await refresh();
    onClose();
    setAddress({ name: fields.name, new: undefined });
  };
  return (
    <FormDialog
      title={draft === null ? 'New schedule' : `Edit ${draft.name}`}
      verb={verb}
      doing={verb}
      request={request}
      mayGo={invalid === undefined}
      onSubmit={save}
      onClose={onClose}
      wide
    >
      <div className="fields">
        {FIELDS.filter(([name]) => fields.workflow === null || !OF_JOBS.has(name)).map(([name, label, placeholder]) => (
          <TextField
            key={name}
            label={label}
            value={fields[name]}
            placeholder={placeholder}
            disabled={name === 'name' && draft !== null}
            required={name !== 'queue' && name !== 'timezone'}
            onChange={set(name)}
            autoComplete="off"
            spellCheck={false}
          />
        ))}
      </div>
      <Preview expression={fields.expression} timezone={fields.timezone} />
      <label className="tick">
        <input
          type="checkbox"
          checked={fields.overlap === 'skip'}
          onChange={({ target }) => setFields({ ...fields, overlap: target.checked ? 'skip' : 'allow' })}
        />
        Skip an occurrence while the last firing has not ended
      </label>
      {texts.map(([name, label, rows]) => (
        <JsonField
          key={name}
          label={label}
          rows={rows}
          value={fields[name] ?? ''}
          aria-invalid={invalid === name}
          onChange={set(name)}
        />
      ))}
      {invalid !== undefined && (
        <p role="status">The {invalid === 'config' ? 'policy' : invalid} is not a JSON object yet.</p>
      )}
    </FormDialog>
  );
}

/** Payload and policy go in as texts: numbers arrive as they were typed. */
function requestOf(fields: Draft, isEdit: boolean): Change {
  const body = objectOf({
    name: isEdit ? undefined : typedString(fields.name),
    cron_expr: typedString(fields.expression),
    timezone: typedString(fields.timezone),
    overlap: typedString(fields.overlap),
    ...(fields.workflow === null
      ? {
          task_name: typedString(fields.task),
          queue: typedString(fields.queue),
          payload: fields.payload,
          config: fields.config,
        }
      : { workflow: fields.workflow }),
  });
  return isEdit
    ? { method: 'PUT', path: `/cron/${encodeURIComponent(fields.name)}`, body }
    : { method: 'POST', path: '/cron', body };
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
        <b>{wordsOf(settled.expression) ?? 'This expression cannot be put into words'}</b>
      </p>
      {read.error !== null && <p className="tone-red preview-error">{read.error.message}</p>}
      <ol className="plain-list">
        {read.data?.next.map((at) => (
          <li key={at}>
            <ExactTime at={at} unit="s" />
          </li>
        ))}
      </ol>
    </div>
  );
}
