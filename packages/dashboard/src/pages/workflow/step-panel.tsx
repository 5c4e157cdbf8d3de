import type { Job, WorkflowStepDefinition } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Icon } from '../../components/icon.js';
import { RawJson } from '../../components/json/json.js';
import { Loaded } from '../../components/notes.js';
import { Facts, Panel } from '../../components/page.js';
import { State } from '../../components/state.js';
import { Time } from '../../components/time.js';
import { duration } from '../../lib/format.js';
import { memberText } from '../../lib/json/spans.js';
import { hasEnded, stepState } from '../../lib/states.js';
import { useMayWrite } from '../../session/session.js';
import { isResumable, ResumeDialog } from './resume-dialog.js';
import type { LiveWorkflow } from './use-workflow.js';
import { Link } from '../../components/links.js';

interface StepPanelProps {
  readonly live: LiveWorkflow;
  readonly name: string;
  readonly onClose: () => void;
}

/** One step: how it went, what it received, what it returned, and its job. */
export function StepPanel({ live, name, onClose }: StepPanelProps): ReactNode {
  const mayWrite = useMayWrite();
  const [resuming, setResuming] = useState(false);
  const step = live.steps.find((candidate) => candidate.name === name);
  const index = live.workflow.steps.findIndex((candidate) => candidate.name === name);
  const definition = live.workflow.steps[index];
  if (step === undefined || definition === undefined) return null;
  const { started_at, completed_at } = step;
  const took =
    started_at === null || completed_at === null ? null : duration(Date.parse(completed_at) - Date.parse(started_at));
  return (
    <Panel
      title={name}
      aside={
        <>
          <State state={stepState(step, Boolean(definition.wait))} />
          {mayWrite && isResumable(live.workflow) && (
            <button type="button" className="button small" onClick={() => setResuming(true)}>
              Resume from here…
            </button>
          )}
          <button type="button" className="button small quiet" aria-label="Close the step" onClick={onClose}>
            <Icon name="close" />
          </button>
        </>
      }
    >
      {resuming && <ResumeDialog workflow={live.workflow} from={name} onClose={() => setResuming(false)} />}
      {step.error_message !== null && <pre className="error-text tone-red">{step.error_message}</pre>}
      <Facts
        facts={[
          ...ruleFacts(definition, step.next_retry_at),
          ['job', step.job_id === null ? 'not yet: waits for its dependencies' : <JobLink id={step.job_id} />],
          ['attempts', step.attempts],
          ...(step.earlier_job_ids.length === 0
            ? []
            : ([
                ['run', step.run],
                ['earlier jobs', <EarlierJobs ids={step.earlier_job_ids} />],
              ] as const)),
          ['started', <Time at={started_at} />],
          ['took', took ?? '–'],
          ['depends on', definition.depends_on.join(', ') || 'nothing'],
          ['if it fails', FAILURE[definition.on_failure]],
          ...(definition.queue === null ? [] : ([['queue', definition.queue]] as const)),
        ]}
      />
      {step.job_id === null ? (
        <>
          <h3>Payload</h3>
          <RawJson label="Payload" text={memberText(live.text, 'steps', index, 'payload') ?? '{}'} />
        </>
      ) : (
        <JobTexts id={step.job_id} />
      )}
    </Panel>
  );
}

/** What it does, and what decides whether and when. */
function ruleFacts(
  { task_name: task, when, wait }: WorkflowStepDefinition,
  retryAt: string | null,
): (readonly [string, ReactNode])[] {
  return [
    wait ? ['waits for', `the signal ${wait.signal}`] : ['task', <span className="mono">{task}</span>],
    ...(!when ? [] : ([['only if', <code>{JSON.stringify(when)}</code>]] as const)),
    ...(retryAt === null ? [] : ([['next attempt', <Time at={retryAt} />]] as const)),
  ];
}

const FAILURE = {
  halt: 'the workflow fails',
  skip: 'its dependents are skipped',
  continue: 'its dependents run all the same',
} as const;

const JobLink = ({ id }: { readonly id: string }): ReactNode => (
  <Link to={`/jobs/${id}`} className="mono">
    {id}
  </Link>
);

const EarlierJobs = ({ ids }: { readonly ids: readonly string[] }): ReactNode => (
  <>
    {ids.map((id) => (
      <div key={id}>
        <JobLink id={id} />
      </div>
    ))}
  </>
);

function JobTexts({ id }: { readonly id: string }): ReactNode {
  const read = useRead<Job>(`/jobs/${id}`, { until: ({ status }) => hasEnded(status) });
  return (
    <Loaded read={read} what="The job">
      {(job, text) => {
        const payload = memberText(text, 'payload') ?? '{}';
        const context = memberText(payload, '_context');
        const result = memberText(text, 'result') ?? 'null';
        return (
          <div className="step-texts">
            <section>
              <h3>Context received</h3>
              <RawJson label="Context received" text={context ?? '{}'} />
            </section>
            <section>
              <h3>Result</h3>
              {result !== 'null' ? (
                <RawJson label="Result" text={result} />
              ) : (
                <p className="quiet">{hasEnded(job.status) ? 'none' : 'none yet'}</p>
              )}
            </section>
            <section>
              <h3>Payload</h3>
              <RawJson label="Payload" text={payload} />
            </section>
          </div>
        );
      }}
    </Loaded>
  );
}
