import type { WorkflowStep } from '@millrace/contract';
import { useCallback, useMemo, useRef, useState, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { isMissing, refresh } from '../../api/hooks.js';
import { CopyButton } from '../../components/copy.js';
import { Confirm } from '../../components/dialogs/confirm.js';
import { Icon } from '../../components/icon.js';
import { RawJson } from '../../components/json/json.js';
import { Empty, ErrorNote, Loading } from '../../components/notes.js';
import { Facts, Page, Panel } from '../../components/page.js';
import { countSteps, StepBar } from '../../components/state-bar.js';
import { State } from '../../components/state.js';
import { ExactTime, Time } from '../../components/time.js';
import { say } from '../../components/toasts.js';
import { useNow } from '../../lib/clock.js';
import { duration } from '../../lib/format.js';
import { criticalPath } from '../../lib/graph/critical-path.js';
import { memberText } from '../../lib/json/spans.js';
import { stepStates } from '../../lib/states.js';
import { useMayWrite } from '../../session/session.js';
import { isResumable, ResumeDialog } from './resume-dialog.js';
import { StepGraph } from './step-graph.js';
import { StepPanel } from './step-panel.js';
import { TimeBars } from './time-bars.js';
import { timesOf } from './times.js';
import { hasWorkflowEnded, useWorkflow, type LiveWorkflow } from './use-workflow.js';
import './workflow.css';
import { useAddress, useParam } from '../../lib/routing.js';

export default function WorkflowPage(): ReactNode {
  const id = useParam();
  const { live, error, stream } = useWorkflow(id);
  if (live === undefined) {
    return (
      <Page title="Workflow" aside={<span className="mono quiet">{id}</span>}>
        {error === null ? (
          <Loading />
        ) : isMissing(error) ? (
          <Empty>There is no such workflow.</Empty>
        ) : (
          <ErrorNote error={error} />
        )}
      </Page>
    );
  }
  return (
    <>
      {error !== null && <ErrorNote error={error} />}
      <WorkflowView live={live} isLive={stream === 'live'} />
    </>
  );
}

interface Critical {
  readonly path: ReturnType<typeof criticalPath>;
  /** The names on it: the same object for as long as they are the same, because a new one draws the graph again. */
  readonly critical: ReadonlySet<string>;
}

/** While the workflow runs the path grows by the second; once it has ended it stays. */
function useCriticalPath(times: ReturnType<typeof timesOf>, ended: boolean): Critical {
  const now = useNow();
  const until = ended ? 0 : now;
  const path = useMemo(() => criticalPath(times, until), [times, until]);
  const key = path.names.join('\n');
  const critical = useMemo(() => new Set(key === '' ? [] : key.split('\n')), [key]);
  return { path, critical };
}

function WorkflowView({ live, isLive }: { readonly live: LiveWorkflow; readonly isLive: boolean }): ReactNode {
  const { workflow, steps, text } = live;
  const [{ path: isPathShown }, setAddress] = useAddress();
  const times = useMemo(() => timesOf(workflow, steps), [workflow, steps]);
  const ended = hasWorkflowEnded(workflow);
  const { path, critical } = useCriticalPath(times, ended);
  const failed = useMemo(() => failedFirst(steps), [steps]);
  const { selected, select, close } = useSelected(ended ? failed : undefined);
  const panel = useRef<HTMLDivElement>(null);
  const show = (name: string): void => {
    select(name);
    // It may not be there yet.
    requestAnimationFrame(() => panel.current?.scrollIntoView({ block: 'nearest' }));
  };
  const context = useMemo(() => memberText(text, 'context') ?? '{}', [text]);
  const metadata = useMemo(() => memberText(text, 'metadata') ?? '{}', [text]);
  const states = useMemo(() => stepStates(workflow.steps, steps), [workflow.steps, steps]);
  const counts = useMemo(() => countSteps(steps), [steps]);
  return (
    <Page
      title={workflow.name}
      aside={
        <>
          <State state={workflow.status} />
          <StepBar counts={counts} />
          {path.names.length > 0 && (
            <span className="quiet" title={path.names.join(' → ')}>
              critical path {duration(path.ms)}
            </span>
          )}
          {isLive && !ended && <span className="tag tone-green">live</span>}
        </>
      }
      actions={<Actions live={live} />}
    >
      {failed !== undefined && <FailedNote step={failed} onSelect={show} />}
      <div className="workflow-columns">
        <StepGraph
          definitions={workflow.steps}
          steps={steps}
          states={states}
          critical={critical}
          isPathShown={isPathShown !== undefined}
          onShowPath={(isShown) => setAddress({ path: isShown ? 'critical' : undefined }, { replace: true })}
          selected={selected}
          onSelect={select}
        />
        <Panel title="Time" aside={<TimeLegend />}>
          <TimeBars
            workflow={workflow}
            times={times}
            states={states}
            critical={critical}
            selected={selected}
            onSelect={select}
          />
        </Panel>
      </div>
      <div ref={panel}>
        {selected !== undefined && <StepPanel key={selected} live={live} name={selected} onClose={close} />}
      </div>
      <Panel title="Workflow">
        <Facts
          facts={[
            ['id', <span className="mono">{workflow.id}</span>],
            ['created', <Time at={workflow.created_at} />],
            ['started', <ExactTime at={workflow.started_at} />],
            ['ended', <ExactTime at={workflow.completed_at} />],
          ]}
        />
        <h3>Context</h3>
        <RawJson label="Context" text={context} />
        <h3>Metadata</h3>
        <RawJson label="Metadata" text={metadata} />
      </Panel>
    </Page>
  );
}

/** The step that failed before any other. */
function failedFirst(steps: readonly WorkflowStep[]): WorkflowStep | undefined {
  const endOf = ({ completed_at: at }: WorkflowStep): number => (at === null ? Infinity : Date.parse(at));
  return steps
    .filter(({ status }) => status === 'failed')
    .reduce<WorkflowStep | undefined>(
      (first, step) => (first === undefined || endOf(step) < endOf(first) ? step : first),
      undefined,
    );
}

interface Selected {
  readonly selected: string | undefined;
  readonly select: (name: string) => void;
  readonly close: () => void;
}

/** The step that the address names; if it names none, the one that went wrong, until somebody has closed it. */
function useSelected(failed: WorkflowStep | undefined): Selected {
  const [{ step }, setAddress] = useAddress();
  const [isClosed, setClosed] = useState(false);
  const select = useCallback((name: string) => setAddress({ step: name }, { replace: true }), [setAddress]);
  const close = (): void => {
    setClosed(true);
    setAddress({ step: undefined }, { replace: true });
  };
  return { selected: step ?? (isClosed ? undefined : failed?.name), select, close };
}

interface FailedNoteProps {
  readonly step: WorkflowStep;
  readonly onSelect: (name: string) => void;
}

/** What went wrong, above everything else: on a narrow screen the step itself is further down. */
const FailedNote = ({ step: { name, error_message: error }, onSelect }: FailedNoteProps): ReactNode => (
  <button type="button" className="failed-note tone-red" onClick={() => onSelect(name)}>
    <Icon name="cross" size={14} /> <b>{name}</b> failed
    {error !== null && <span className="failed-why">: {error.split('\n', 1)[0]}</span>}
  </button>
);

const TimeLegend = (): ReactNode => (
  <span className="quiet time-legend">
    <span className="time-swatch waiting" aria-hidden="true" /> waits{' '}
    <span className="time-swatch" aria-hidden="true" /> runs
  </span>
);

function Actions({ live: { workflow } }: { readonly live: LiveWorkflow }): ReactNode {
  const mayWrite = useMayWrite();
  const [asking, setAsking] = useState(false);
  const [resuming, setResuming] = useState(false);
  const request: Change = { method: 'POST', path: `/workflows/${workflow.id}/cancel` };
  const cancel = async (): Promise<void> => {
    await change(request);
    say(`Workflow ${workflow.name} is cancelled.`);
    await refresh();
  };
  return (
    <>
      <CopyButton text={workflow.id} label="Copy id" />
      {mayWrite && !hasWorkflowEnded(workflow) && (
        <button type="button" className="button danger" onClick={() => setAsking(true)}>
          Cancel…
        </button>
      )}
      {mayWrite && isResumable(workflow) && (
        <button type="button" className="button" onClick={() => setResuming(true)}>
          Resume…
        </button>
      )}
      {resuming && <ResumeDialog workflow={workflow} onClose={() => setResuming(false)} />}
      {asking && (
        <Confirm
          title={`Cancel ${workflow.name}?`}
          verb="Cancel the workflow"
          danger
          request={request}
          onConfirm={cancel}
          onClose={() => setAsking(false)}
        >
          <p>Every step that has not ended is cancelled. The workflow can be resumed later.</p>
        </Confirm>
      )}
    </>
  );
}
