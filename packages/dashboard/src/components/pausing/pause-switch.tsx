import { useState, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { refresh } from '../../api/hooks.js';
import { useSession } from '../../session/session.js';
import { Confirm } from '../dialogs/confirm.js';
import { TextField } from '../forms/fields.js';
import { say, sayError } from '../toasts.js';

/** The longest reason that the server takes. */
const REASON_MAX = 500;

const request = (queue: string, verb: 'pause' | 'resume', reason = ''): Change => ({
  method: 'POST',
  path: `/admin/queues/${encodeURIComponent(queue)}/${verb}`,
  ...(reason !== '' && { body: JSON.stringify({ reason }) }),
});

/** Queues are those of all tenants: who pauses one is an operator, or alone on a development server. */
export function useMayPause(): boolean {
  const { who } = useSession();
  return who !== null && !who.read_only && (who.kind === 'admin' || who.kind === 'developer');
}

interface PauseSwitchProps {
  readonly queue: string;
  readonly isPaused: boolean;
  /** Whose work it stops, as far as it is known. */
  readonly tenants?: readonly string[];
}

/** Pauses a queue, after a question, or resumes it. Not there for those who may not. */
export function PauseSwitch({ queue, isPaused, tenants = [] }: PauseSwitchProps): ReactNode {
  const [asks, setAsks] = useState(false);
  if (!useMayPause()) return null;
  return (
    <>
      {isPaused ? (
        <button type="button" className="button small" aria-label={`Resume ${queue}`} onClick={() => resume(queue)}>
          Resume
        </button>
      ) : (
        <button type="button" className="button small" aria-label={`Pause ${queue}`} onClick={() => setAsks(true)}>
          Pause…
        </button>
      )}
      {asks && <PauseDialog queue={queue} tenants={tenants} onClose={() => setAsks(false)} />}
    </>
  );
}

function resume(queue: string): void {
  change(request(queue, 'resume'))
    .then(async () => {
      say(`${queue} is resumed.`);
      await refresh();
    })
    .catch(sayError);
}

interface PauseDialogProps {
  readonly queue: string;
  readonly tenants: readonly string[];
  readonly onClose: () => void;
}

/** Pausing stops the work of every tenant: it is asked about although it can be undone. */
function PauseDialog({ queue, tenants, onClose }: PauseDialogProps): ReactNode {
  const [reason, setReason] = useState('');
  const pausing = request(queue, 'pause', reason.trim());
  const pause = async (): Promise<void> => {
    await change(pausing);
    say(`${queue} is paused.`, [{ label: 'Undo', run: () => resume(queue) }]);
    await refresh();
  };
  return (
    <Confirm
      title={`Pause ${queue}?`}
      verb={`Pause ${queue}`}
      danger
      request={pausing}
      onConfirm={pause}
      onClose={onClose}
    >
      <p>
        Workers get no more jobs of this queue until it is resumed; running jobs continue. This affects every tenant
        {tenants.length > 0 && `: ${tenants.join(', ')}`}.
      </p>
      <TextField
        label="Reason, for everybody to see"
        placeholder="The mail provider is down"
        maxLength={REASON_MAX}
        value={reason}
        onChange={setReason}
        autoComplete="off"
      />
    </Confirm>
  );
}
