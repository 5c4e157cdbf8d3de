import type { WaitingFor } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Panel } from '../../components/page.js';
import { ExactTime, Time } from '../../components/time.js';
import { AnswerForm } from '../../components/waits/answer-form.js';
import { plural } from '../../lib/format.js';
import { membersOf } from '../../lib/json/slice.js';

interface WaitingForProps {
  readonly jobId: string;
  readonly waiting: WaitingFor;
  /** The same as it came. */
  readonly text: string;
}

/** What a suspended job waits for, with the form that ends the wait. */
export function WaitingForPanel({ jobId, waiting, text }: WaitingForProps): ReactNode {
  const { signal, key, ask, since, until } = waiting;
  return (
    <Panel
      title={titleOf(waiting)}
      aside={
        <span>
          since <Time at={since} />, until <ExactTime at={until} />
          {key !== null && key !== jobId && `, key ${key}`}
        </span>
      }
    >
      {signal === null ? (
        <p className="quiet">{goesOn(waiting)}</p>
      ) : (
        <AnswerForm
          awaited={{ jobId, name: signal, key: key ?? jobId }}
          ask={ask}
          askText={membersOf(text).get('ask') ?? '{}'}
        />
      )}
    </Panel>
  );
}

function titleOf({ checkpoint, signal, children }: WaitingFor): string {
  if (signal !== null) return `Waits for ${signal}`;
  return children === null ? `Asleep: ${checkpoint}` : `Waits for ${plural(children.total, 'other job')}`;
}

const goesOn = ({ children }: WaitingFor): string =>
  children === null
    ? 'It continues by itself. “Run now” ends the sleep.'
    : `It continues when they have ended; ${children.unfinished} of ${children.total} have not.`;
