import type { Attempt, Attempts, Checkpoints, Job, Why } from '@millrace/contract';
import { useMemo, useRef, type ReactNode } from 'react';
import { isMissing, POLL_MS, useRead } from '../../api/hooks.js';
import { CopyButton } from '../../components/copy.js';
import { Icon } from '../../components/icon.js';
import { RawJson } from '../../components/json/json.js';
import { JobLink, Link, QueueLink, WorkerLink, WorkflowLink } from '../../components/links.js';
import { ErrorNote, Loading } from '../../components/notes.js';
import { Facts, Page, Panel } from '../../components/page.js';
import { State } from '../../components/state.js';
import { Countdown, ExactTime } from '../../components/time.js';
import { useNow } from '../../lib/clock.js';
import { clockToSecond, dayAndClock, duration, exact, shortId } from '../../lib/format.js';
import { useZone } from '../../lib/preferences.js';
import { membersOf } from '../../lib/json/slice.js';
import { hasEnded, stateOf } from '../../lib/states.js';
import { AttemptList } from '../../components/attempt-list.js';
import { backoffWords } from './backoff-words.js';
import { CompareAttempts, CompareButton, comparedOf } from './compare-attempts.js';
import { ProgressPanel } from './progress-panel.js';
import { rowsOf } from './timeline-rows.js';
import { TraceLink } from './trace-link.js';
import { useJob } from './use-job.js';
import { useLog } from './use-log.js';
import { JobActions } from './job-actions.js';
import { LogList } from './log-list.js';
import { CheckpointList } from './checkpoint-list.js';
import { ChildList } from './child-list.js';
import { momentsOf } from './moments.js';
import { Timeline } from './timeline.js';
import { WaitingForPanel } from './waiting-for.js';
import { useAddress, useParam } from '../../lib/routing.js';

export default function JobPage(): ReactNode {
  const id = useParam();
  const { answer, error, progress, stream } = useJob(id);
  if (answer === undefined) {
    return (
      <Page title={`Job ${shortId(id)}`}>
        {error === null ? <Loading /> : isMissing(error) ? <NoSuchJob id={id} /> : <ErrorNote error={error} />}
      </Page>
    );
  }
  return (
    <>
      {error !== null && <ErrorNote error={error} />}
      {stream === 'polling' && (
        <p className="quiet" role="status">
          The live stream was interrupted; polling every two seconds until it is back.
        </p>
      )}
      <JobView key={id} job={answer.data} text={answer.text} progress={progress} />
    </>
  );
}

function NoSuchJob({ id }: { readonly id: string }): ReactNode {
  return (
    <div className="empty stack">
      <p>
        There is no job with this id: <span className="mono">{id}</span>. Retention may have removed it.
      </p>
      <p>
        It may be the id of a <Link to={`/workflows/${id}`}>workflow</Link> or an{' '}
        <Link to={`/operations/${id}`}>operation</Link>.
      </p>
    </div>
  );
}

/** The same each time: what is drawn from it is not worked out again. */
const NO_ATTEMPTS: readonly Attempt[] = [];

interface JobViewProps {
  readonly job: Job;
  /** The job as it came: payload, result and metadata are shown from it, to the byte. */
  readonly text: string;
  readonly progress: string | null;
}

function JobView({ job, text, progress }: JobViewProps): ReactNode {
  const now = useNow();
  // Once per text: this is drawn again each second, and a payload may have megabytes.
  const members = useMemo(() => membersOf(text), [text]);
  const ended = hasEnded(job.status);
  const attempts = useRead<Attempts>(`/jobs/${job.id}/attempts`, ended ? { pollMs: null } : {});
  // A job that no worker has held has stored nothing. Changes of its state are told by its stream.
  const stored = useRead<Checkpoints>(`/jobs/${job.id}/checkpoints`, {
    enabled: job.delivery_count > 0,
    pollMs: job.status === 'running' ? POLL_MS : null,
  }).answer;
  const log = useLog(job.id, job.delivery_count > 0);
  const logPlace = useRef<HTMLDivElement>(null);
  const tried = attempts.data?.attempts ?? NO_ATTEMPTS;
  const checkpoints = stored?.data.checkpoints ?? [];
  const running = progress ?? members.get('progress') ?? 'null';
  const [{ compare }] = useAddress();
  const compared = comparedOf(compare, tried);
  return (
    <Page
      title={job.task_name}
      aside={
        <>
          <State state={stateOf(job, now)} />
          <span className="mono quiet" title={job.id}>
            {shortId(job.id)}
          </span>
          <CopyButton text={job.id} label="Copy id" />
        </>
      }
      actions={
        <>
          <TraceLink job={job} />
          <JobActions job={job} text={text} />
        </>
      }
    >
      {!ended && <WhySentence id={job.id} />}
      <Timeline
        rows={rowsOf(job, tried, attempts.data?.first_due_at, checkpoints, log.lines, now)}
        progress={running}
        onShowLog={() => logPlace.current?.scrollIntoView()}
      />
      {job.waiting_for !== undefined && (
        <WaitingForPanel jobId={job.id} waiting={job.waiting_for} text={members.get('waiting_for') ?? '{}'} />
      )}
      {job.error_message !== null && attempts.data === undefined && (
        <div className="note tone-red">
          <Icon name="cross" size={14} /> <span className="sentence">{job.error_message}</span>
        </div>
      )}
      {running !== 'null' && <ProgressPanel text={running} />}
      {stored !== undefined && checkpoints.length > 0 && (
        <CheckpointList stored={stored.data} text={stored.text} moments={momentsOf(job, tried, checkpoints)} />
      )}
      <ChildList job={job} />
      <Panel
        title="Attempts"
        aside={
          <>
            {job.lease_expires_at !== null && (
              <span>
                lease ends in <Countdown to={job.lease_expires_at} />
              </span>
            )}
            <CompareButton attempts={tried} />
          </>
        }
      >
        <AttemptList job={job} read={attempts} />
      </Panel>
      {compared !== null && <CompareAttempts pair={compared} attempts={tried} />}
      <div ref={logPlace}>
        <LogList log={log} isRunning={job.status === 'running'} />
      </div>
      <div className="columns">
        <Panel title="Payload">
          <RawJson text={members.get('payload') ?? 'null'} label="Payload" />
        </Panel>
        <Panel title="Result">
          {job.result === null ? (
            <p className="quiet">None{ended ? '.' : ' yet.'}</p>
          ) : (
            <RawJson text={members.get('result') ?? 'null'} label="Result" />
          )}
        </Panel>
        <Panel title="Details">
          <Details job={job} />
        </Panel>
        <Panel title="Metadata">
          <MetadataLinks job={job} />
          <RawJson text={members.get('metadata') ?? 'null'} label="Metadata" />
        </Panel>
      </div>
    </Page>
  );
}

/** Why it is not running, or that it is, in one sentence. */
function WhySentence({ id }: { readonly id: string }): ReactNode {
  const { data, error } = useRead<Why>(`/jobs/${id}/why`);
  if (data === undefined || error !== null || data.reason === 'ended') return null;
  return (
    <p className="why" role="status">
      <WithClocks text={data.message} />
    </p>
  );
}

const INSTANT = /(\d{4}-\d\d-\d\dT[\d:]+(?:\.\d+)?Z)/;

/** A sentence of the server, whose instants are written for programs: those of today as times of day, all on hover. */
function WithClocks({ text }: { readonly text: string }): ReactNode {
  const zone = useZone();
  const now = useNow();
  return text.split(INSTANT).map((part, index) => {
    if (index % 2 === 0) return part;
    const isNear = Math.abs(Date.parse(part) - now) < HALF_DAY_MS;
    return (
      <time key={index} dateTime={part} title={exact(part, zone)}>
        {isNear ? clockToSecond(part, zone) : dayAndClock(part, zone)}
      </time>
    );
  });
}

const HALF_DAY_MS = 12 * 3_600_000;

function Details({ job }: { readonly job: Job }): ReactNode {
  const { config } = job;
  return (
    <Facts
      facts={[
        ['queue', <QueueLink key="queue" queue={job.queue_name} />],
        [
          'id',
          <span key="id" className="mono">
            {job.id}
          </span>,
        ],
        ['created', <ExactTime key="created" at={job.created_at} />],
        ['due', <ExactTime key="due" at={job.scheduled_at} />],
        ['started', <ExactTime key="started" at={job.started_at} />],
        ['ended', <ExactTime key="ended" at={job.completed_at} />],
        ...runningFacts(job),
        ['retries', `${job.retry_count} of ${config.max_retries}`],
        ['backoff', backoffWords(config)],
        ['timeout', duration(config.timeout_secs * 1000)],
        ['priority', config.priority],
        ['idempotency key', job.idempotency_key ?? '–'],
        [
          'workflow',
          job.workflow_id === null ? (
            '–'
          ) : (
            <WorkflowLink key="workflow" id={job.workflow_id}>
              {job.workflow_step_id ?? job.workflow_id}
            </WorkflowLink>
          ),
        ],
      ]}
    />
  );
}

/** Only while it runs: who completed a job is not recorded, and who failed it stands at the attempt. */
const runningFacts = ({ worker_id }: Job): readonly (readonly [string, ReactNode])[] =>
  worker_id === null ? [] : [['worker', <WorkerLink key="worker" id={worker_id} />]];

/** Where the job came from, if another job or a dead letter was run again. */
function MetadataLinks({ job: { metadata } }: { readonly job: Job }): ReactNode {
  const from = metadata.rerun_of ?? metadata.replayed_from_job;
  return typeof from === 'string' ? (
    <p className="body">
      {metadata.rerun_of === undefined ? 'Replay' : 'Copy'} of <JobLink id={from} />
    </p>
  ) : null;
}
