import type { JobLogs, LogLevel } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Panel } from '../../components/page.js';
import { ExactTime } from '../../components/time.js';
import { plural } from '../../lib/format.js';
import type { Tone } from '../../lib/states.js';

const POLL_MS = 2_000;

const TONES: Readonly<Record<LogLevel, Tone>> = { debug: 'grey', info: 'plain', warn: 'amber', error: 'red' };

/** What the handlers of a job wrote: nothing is shown of a job whose handlers wrote nothing. */
export function LogList({ jobId, isRunning }: { readonly jobId: string; readonly isRunning: boolean }): ReactNode {
  const { data } = useRead<JobLogs>(`/jobs/${jobId}/logs`, { pollMs: isRunning ? POLL_MS : null });
  if (data === undefined || data.lines.length === 0) return null;
  const { lines, omitted } = data;
  return (
    <Panel title="Log" aside={omitted === 0 ? plural(lines.length, 'line') : `${plural(omitted, 'line')} not kept`}>
      <ol className="plain-list log-lines" aria-label="Log">
        {lines.map(({ attempt, seq, at, level, message, fields }) => (
          <li key={`${attempt} ${seq}`} className={`tone-${TONES[level]}`}>
            <span className="quiet">
              <ExactTime at={at} /> #{attempt} {level}
            </span>{' '}
            <span className="mono">{message}</span>
            {Object.keys(fields ?? {}).length > 0 && <code className="quiet"> {JSON.stringify(fields)}</code>}
          </li>
        ))}
      </ol>
      {data.next !== undefined && lines.length > 0 && !isRunning && (
        <p className="quiet">These are the first lines. `millrace jobs logs {jobId}` shows all of them.</p>
      )}
    </Panel>
  );
}
