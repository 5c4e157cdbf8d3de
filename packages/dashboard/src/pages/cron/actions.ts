import type { Cron, CronTriggered } from '@millrace/contract';
import { change, type Change } from '../../api/client.js';
import { refresh } from '../../api/hooks.js';
import { say, sayError } from '../../components/toasts.js';
import { newUuid } from '../../lib/uuid.js';
import { go } from '../../lib/routing.js';

export interface CronActions {
  readonly trigger: (cron: Cron) => void;
  readonly setEnabled: (cron: Cron, enabled: boolean) => void;
}

/** What happens at once: it can be undone, or makes a single job or workflow. */
export function useCronActions(): CronActions {
  const run = (request: Change, done: (answer: unknown) => void): void => {
    change(request)
      .then(async (answer) => {
        done(answer);
        await refresh();
      })
      .catch(sayError);
  };
  const setEnabled = (cron: Cron, enabled: boolean): void => {
    const verb = enabled ? 'resume' : 'pause';
    run({ method: 'POST', path: `/cron/${cron.id}/${verb}` }, () =>
      say(`${cron.name} is ${enabled ? 'resumed' : 'paused'}.`, [
        { label: 'Undo', run: () => setEnabled(cron, !enabled) },
      ]),
    );
  };
  const trigger = (cron: Cron): void =>
    run({ method: 'POST', path: `/cron/${cron.id}/trigger`, idempotencyKey: newUuid() }, (answer) => {
      const { job_id, workflow_id } = answer as CronTriggered;
      const isJob = typeof job_id === 'string';
      const open = (): void => go(`/${isJob ? 'jobs' : 'workflows'}/${job_id ?? workflow_id ?? ''}`);
      say(`${cron.name} was triggered.`, [{ label: isJob ? 'Open job' : 'Open workflow', run: open }]);
    });
  return { trigger, setEnabled };
}
