import type { AdminQueue, QueueSettingsInput } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { refresh } from '../../api/hooks.js';
import { FormDialog } from '../../components/dialogs/form-dialog.js';
import { TextField } from '../../components/forms/fields.js';
import { say } from '../../components/toasts.js';

interface SettingsDialogProps {
  readonly queue: AdminQueue;
  readonly onClose: () => void;
}

/** How many jobs of a queue may run, at which rate they start, and whether tenants take turns. Empty: no limit. */
export function SettingsDialog({ queue: { queue, settings }, onClose }: SettingsDialogProps): ReactNode {
  const [running, setRunning] = useState(text(settings?.running));
  const [count, setCount] = useState(text(settings?.rate?.count));
  const [per, setPer] = useState(text(settings?.rate?.per_secs ?? 60));
  const [burst, setBurst] = useState(text(settings?.rate?.burst ?? 1));
  const [takesTurns, setTakesTurns] = useState(settings?.share === 'tenant');
  const wanted: QueueSettingsInput = {
    running: running === '' ? null : Number(running),
    rate: count === '' ? null : { count: Number(count), per_secs: Number(per), burst: Number(burst) },
    share: takesTurns ? 'tenant' : null,
  };
  const request: Change = {
    method: 'PUT',
    path: `/admin/queues/${encodeURIComponent(queue)}`,
    body: JSON.stringify(wanted),
  };
  const save = async (): Promise<void> => {
    await change(request);
    say(`The limits of ${queue} are set.`);
    onClose();
    await refresh();
  };
  return (
    <FormDialog
      title={`Limits of ${queue}`}
      verb="Set limits"
      request={request}
      mayGo
      onSubmit={save}
      onClose={onClose}
    >
      <p className="quiet">They apply to all tenants together, and to waiting jobs too. Running jobs continue.</p>
      <TextField label="Running at a time" placeholder="any number" {...whole} value={running} onChange={setRunning} />
      <div className="fields">
        <TextField label="Jobs that may start" placeholder="any number" {...whole} value={count} onChange={setCount} />
        <TextField label="Period, seconds" {...whole} value={per} onChange={setPer} disabled={count === ''} />
        <TextField label="Burst" {...whole} value={burst} onChange={setBurst} disabled={count === ''} />
      </div>
      <label className="tick">
        <input type="checkbox" checked={takesTurns} onChange={(event) => setTakesTurns(event.target.checked)} />
        Tenants take turns
      </label>
    </FormDialog>
  );
}

const text = (n: number | null | undefined): string => (n === null || n === undefined ? '' : String(n));

const whole = { type: 'number', min: 1, step: 1, inputMode: 'numeric' } as const;
