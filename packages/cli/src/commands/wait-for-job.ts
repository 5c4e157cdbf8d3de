import type { Wire } from '@millrace/sdk';
import type { Connection } from '../connection/connect.js';
import type { Context } from '../invocation/context.js';
import { jobProgress, ProgressLine } from '../show/progress.js';
import { span } from '../show/time.js';

/** How long commands wait unless told otherwise. */
export const DEFAULT_WAIT_MS = 300_000;
/** How long one call waits at the server. Where progress is shown, it is asked for every second. */
const POLL_SECS = 20;
const POLL_SECS_WATCHED = 1;

export const hasEnded = (status: string): boolean => ['completed', 'failed', 'cancelled'].includes(status);

/** The JSON of a job once it has ended, or as it is when the time is over. */
export async function waitForJob(
  { io, signal }: Pick<Context, 'io' | 'signal'>,
  { raw }: Connection,
  id: string,
  timeoutMs: number = DEFAULT_WAIT_MS,
): Promise<{ text: string; ended: boolean }> {
  const started = performance.now();
  const line = new ProgressLine(io);
  try {
    for (;;) {
      const left = timeoutMs - (performance.now() - started);
      const waitSecs = Math.min(line.visible ? POLL_SECS_WATCHED : POLL_SECS, Math.max(0, Math.ceil(left / 1_000)));
      const { text, body } = await raw.call<Wire.Job>(['jobs', id], {
        query: { wait_secs: waitSecs },
        timeout: `${waitSecs + 10}s`,
        signal,
      });
      if (hasEnded(body.status)) return { text, ended: true };
      if (performance.now() - started >= timeoutMs) return { text, ended: false };
      line.update(describe(body, performance.now() - started));
    }
  } finally {
    line.clear();
  }
}

/** `running  attempt 1  #######---  70 %  12s` */
function describe({ status, delivery_count: deliveries, progress }: Wire.Job, ms: number): string {
  return [status, deliveries > 0 ? `attempt ${deliveries}` : '', jobProgress(progress), span(ms)]
    .filter(Boolean)
    .join('  ');
}
