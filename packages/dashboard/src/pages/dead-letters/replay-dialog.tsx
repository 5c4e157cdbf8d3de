import type { DryRun, OperationCreated } from '@millrace/contract';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useMemo, useState, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { refresh } from '../../api/hooks.js';
import { Confirm } from '../../components/dialog.js';
import { ErrorNote } from '../../components/notes.js';
import { Time } from '../../components/time.js';
import { count, plural } from '../../lib/format.js';

/** What is to be replayed: the parameters of the list, or entries by their ids. */
export type ReplayChoice =
  { readonly filter: Readonly<Record<string, string | boolean>> } | { readonly ids: readonly string[] };

/** Above this many the number has to be typed. */
const TYPED_ABOVE = 100;

interface ReplayDialogProps {
  readonly choice: ReplayChoice;
  /** In words: `send_mail, "smtp: refused"`. */
  readonly what: string;
  readonly onClose: () => void;
}

/** Asks before many dead letters are replayed, after a dry run that says how many; then shows the operation. */
export function ReplayDialog({ choice, what, onClose }: ReplayDialogProps): ReactNode {
  const [dryRun, setDryRun] = useState<DryRun | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const navigate = useNavigate();
  // One key per dialog: pressing twice, or a cut in between, makes one operation.
  const idempotencyKey = useMemo(() => crypto.randomUUID(), []);
  const body = { action: 'replay_dead_letters', ...choice };
  const request: Change = { method: 'POST', path: '/operations', body: JSON.stringify(body), idempotencyKey };
  const dryBody = JSON.stringify({ ...body, dry_run: true });
  useEffect(() => {
    let isCurrent = true;
    change<DryRun>({ method: 'POST', path: '/operations', body: dryBody }).then(
      (found) => isCurrent && setDryRun(found),
      (reason: unknown) => isCurrent && setError(reason instanceof Error ? reason : new Error(String(reason))),
    );
    return () => {
      isCurrent = false;
    };
  }, [dryBody]);
  const confirm = async (): Promise<void> => {
    const created = await change<OperationCreated>(request);
    await refresh();
    if (created !== null) await navigate({ to: '/operations/$id', params: { id: created.operation_id } });
  };
  const n = dryRun?.matched.n ?? 0;
  return (
    <Confirm
      title="Replay dead letters?"
      verb={dryRun === null ? 'Replay' : `Replay ${plural(n, 'entry', 'entries')}`}
      request={request}
      waiting={dryRun === null || n === 0}
      typed={n > TYPED_ABOVE ? String(n) : undefined}
      onConfirm={confirm}
      onClose={onClose}
      wide
    >
      <p>
        Each becomes a new job with the same payload and policy: <b>{what}</b>. An entry can be replayed once.
      </p>
      {error !== null && <ErrorNote error={error} />}
      {error === null && <Found dryRun={dryRun} />}
    </Confirm>
  );
}

function Found({ dryRun }: { readonly dryRun: DryRun | null }): ReactNode {
  if (dryRun === null) return <p role="status">Counting…</p>;
  if (dryRun.matched.n === 0) return <p role="status">None of them is open: they have been replayed before.</p>;
  return (
    <div role="status">
      <p>
        <b>{count(dryRun.matched)}</b> open {dryRun.matched.n === 1 ? 'entry matches' : 'entries match'}. The first of
        them:
      </p>
      <ul className="sample">
        {dryRun.sample.map(({ id, task_name, queue_name, created_at }) => (
          <li key={id}>
            <span className="mono">{id}</span> {task_name} on {queue_name}, <Time at={created_at} />
          </li>
        ))}
      </ul>
    </div>
  );
}
