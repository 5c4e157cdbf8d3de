import type { Wait, Waits } from '@millrace/contract';
import { useMemo, type ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { JobLink } from '../../components/links.js';
import { Empty, Loaded } from '../../components/notes.js';
import { Page, Panel } from '../../components/page.js';
import { Pager } from '../../components/tables/pager.js';
import { Time } from '../../components/time.js';
import { AnswerForm } from '../../components/waits/answer-form.js';
import { elementsOf, membersOf } from '../../lib/json/slice.js';
import { useAddress } from '../../lib/routing.js';

/** Jobs that ask a person something, each with its answers. */
export default function WaitingPage(): ReactNode {
  const [{ cursor }] = useAddress();
  const read = useRead<Waits>('/waits', { query: { ask: true, cursor, limit: 50 } });
  return (
    <Page
      title="Waiting for you"
      aside={<span className="quiet">jobs with a question for a person, newest first</span>}
    >
      <Loaded read={read} what="Waits">
        {(page, text) => (
          <>
            {page.waits.length === 0 ? (
              <div className="panel">
                <Empty icon="waiting" title="No question" curl={QUESTION}>
                  A job can ask a person, and rests until somebody answers here. A handler asks like this:
                </Empty>
              </div>
            ) : (
              <WaitList waits={page.waits} text={text} />
            )}
            <Pager page={page} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

const QUESTION = `const answer = await ctx.waitFor('approval', {
  timeout: '3d',
  ask: {
    text: 'Refund 120.00 for order 7?',
    choices: [
      { label: 'Approve', value: { approved: true } },
      { label: 'Refuse', value: { approved: false } },
    ],
  },
});`;

function WaitList({ waits, text }: { readonly waits: readonly Wait[]; readonly text: string }): ReactNode {
  const texts = useMemo(() => elementsOf(membersOf(text).get('waits') ?? '[]'), [text]);
  return (
    <ul className="waiting">
      {waits.map((wait, index) => (
        <li key={`${wait.job_id} ${wait.name}`}>
          <WaitView wait={wait} askText={membersOf(texts[index] ?? '{}').get('ask') ?? '{}'} />
        </li>
      ))}
    </ul>
  );
}

function WaitView({ wait, askText }: { readonly wait: Wait; readonly askText: string }): ReactNode {
  const { job_id: jobId, task_name: task, name, key, ask, since, until } = wait;
  return (
    <Panel
      title={<JobLink id={jobId}>{task}</JobLink>}
      aside={
        <span>
          {name}
          {key !== jobId && ` ${key}`}, asked <Time at={since} />, until <Time at={until} />
        </span>
      }
    >
      <AnswerForm awaited={{ jobId, name, key }} ask={ask} askText={askText} />
    </Panel>
  );
}
