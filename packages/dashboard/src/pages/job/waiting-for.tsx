import type { WaitingFor } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Panel } from '../../components/page.js';
import { ExactTime, Time } from '../../components/time.js';
import { AnswerForm } from '../../components/waits/answer-form.js';
import { membersOf } from '../../lib/json/slice.js';

interface WaitingForProps {
  readonly jobId: string;
  readonly waiting: WaitingFor;
  /** The same as it came. */
  readonly text: string;
}

/** What a suspended job waits for, with the form that ends the wait. */
export function WaitingForPanel({ jobId, waiting, text }: WaitingForProps): ReactNode {
  const { checkpoint, signal, key, ask, since, until } = waiting;
  return (
    <Panel
      title={signal === null ? `Asleep: ${checkpoint}` : `Waits for ${signal}`}
      aside={
        <span>
          since <Time at={since} />, until <ExactTime at={until} />
          {key !== null && key !== jobId && `, key ${key}`}
        </span>
      }
    >
      {signal === null ? (
        <p className="quiet">It goes on by itself. “Run now” ends the sleep.</p>
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
