import type { LogLevel } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import { WorkerLink } from '../../components/links.js';
import { Panel } from '../../components/page.js';
import { Progress } from '../../components/progress.js';
import { State } from '../../components/state.js';
import { Time } from '../../components/time.js';
import { useNow } from '../../lib/clock.js';
import { duration, exact, plural } from '../../lib/format.js';
import { useZone } from '../../lib/preferences.js';
import { progressOf } from '../../lib/progress.js';
import { LOOKS, type Tone } from '../../lib/states.js';
import { timeScale, type TimeScale } from './time-scale.js';
import type { AttemptRow, MomentRow, Row } from './timeline-rows.js';
import './timeline.css';

/** Only so many attempts are shown at first; those in between are counted. */
const SHOWN_EACH_END = 3;
const STEPS_NAMED = 4;

interface TimelineProps {
  readonly rows: readonly Row[];
  /** The raw text of what the running attempt last reported. */
  readonly progress: string | null;
  readonly onShowLog: () => void;
}

/** What happened, on one line of time: created, due, each attempt as a bar, and the end. */
export function Timeline({ rows, progress, onShowLog }: TimelineProps): ReactNode {
  const now = useNow();
  const [isWhole, setWhole] = useState(false);
  const from = Math.min(...rows.map((row) => (row.kind === 'attempt' ? row.readyAt : (row.at ?? now))));
  const to = Math.max(from, ...rows.map((row) => (row.kind === 'attempt' ? row.to : (row.at ?? now))));
  const attempts = rows.filter((row) => row.kind === 'attempt');
  const scale = timeScale(
    from,
    to,
    attempts.map((row) => [row.from, row.to]),
  );
  const hidden = isWhole ? new Set<Row>() : inBetween(attempts);
  const shown = rows.filter((row) => !hidden.has(row));
  const first = attempts[SHOWN_EACH_END];
  return (
    <Panel title="Timeline" aside={<span className="quiet figures">{duration(to - from)} in all</span>}>
      <ol className="job-timeline" aria-label="What happened">
        {rows.map((row) =>
          row === first && hidden.size > 0 ? (
            <li key="more" className="timeline-more">
              <button type="button" className="button small" onClick={() => setWhole(true)}>
                Show {plural(hidden.size, 'more attempt')}
              </button>
            </li>
          ) : !shown.includes(row) ? null : row.kind === 'moment' ? (
            <MomentLine key={row.key} row={row} scale={scale} now={now} />
          ) : (
            <AttemptLine key={row.key} row={row} scale={scale} progress={progress} onShowLog={onShowLog} />
          ),
        )}
      </ol>
      {scale.cuts.length > 0 && (
        <p className="timeline-key quiet">
          <span className="timeline-cut" aria-hidden="true" /> Long waits are drawn shorter than they were.
        </p>
      )}
    </Panel>
  );
}

const inBetween = (attempts: readonly AttemptRow[]): ReadonlySet<Row> =>
  new Set(attempts.length <= 2 * SHOWN_EACH_END + 1 ? [] : attempts.slice(SHOWN_EACH_END, -SHOWN_EACH_END));

const percent = (thousandths: number): string => `${Math.round(thousandths) / 10}%`;
const place = (from: number, to: number): { readonly insetInlineStart: string; readonly inlineSize: string } => ({
  insetInlineStart: percent(from),
  inlineSize: percent(to - from),
});

const Cuts = ({ scale }: { readonly scale: TimeScale }): ReactNode =>
  scale.cuts.map(({ from, to, ms }) => (
    <span key={from} className="timeline-cut" style={place(from, to)} title={`${duration(ms)}, drawn shorter`} />
  ));

interface MomentLineProps {
  readonly row: MomentRow;
  readonly scale: TimeScale;
  readonly now: number;
}

function MomentLine({ row: { words, state, at }, scale, now }: MomentLineProps): ReactNode {
  const zone = useZone();
  const instant = new Date(at ?? now).toISOString();
  return (
    <li className={`tone-${LOOKS[state].tone}`}>
      <span className="timeline-name">
        <State state={state}>{words}</State>
      </span>
      <span className="timeline-track" aria-hidden="true">
        <Cuts scale={scale} />
        <span
          className="timeline-moment"
          style={{ insetInlineStart: percent(scale.at(at ?? now)) }}
          title={exact(instant, zone)}
        />
      </span>
      <span className="timeline-took">{at === null ? 'now' : <Time at={instant} />}</span>
    </li>
  );
}

interface AttemptLineProps {
  readonly row: AttemptRow;
  readonly scale: TimeScale;
  readonly progress: string | null;
  readonly onShowLog: () => void;
}

function AttemptLine({ row, scale, progress, onShowLog }: AttemptLineProps): ReactNode {
  const { number, outcome, worker, readyAt, from, to, steps, lines, lineCount } = row;
  const reported = outcome === 'running' && progress !== null ? progressOf(progress) : null;
  const waited = from - readyAt;
  return (
    <li className={`tone-${LOOKS[outcome].tone}`}>
      <span className="timeline-name">
        <span>
          <b className="figures">#{number}</b> <State state={outcome} />
        </span>
        {worker !== null && <WorkerLink id={worker} />}
      </span>
      <span className="timeline-track" aria-hidden="true">
        <Cuts scale={scale} />
        {waited > 0 && (
          <span
            className="timeline-wait"
            style={place(scale.at(readyAt), scale.at(from))}
            title={`waited ${duration(waited)} for a worker`}
          />
        )}
        <span
          className="timeline-run"
          style={place(scale.at(from), scale.at(to))}
          title={`#${number}: ${duration(to - from)}`}
        />
        {lines.map(({ at, level }) => (
          <span
            key={at}
            className={`timeline-line tone-${LEVELS[level]}`}
            style={{ insetInlineStart: percent(scale.at(at)) }}
          />
        ))}
        {steps.map(({ name, at }) => (
          <span
            key={name}
            className="timeline-step"
            style={{ insetInlineStart: percent(scale.at(at)) }}
            title={`stored ${name}`}
          />
        ))}
      </span>
      <span className="timeline-took figures">{duration(to - from)}</span>
      {(reported !== null || steps.length > 0 || lineCount > 0) && (
        <span className="timeline-about">
          {reported !== null && (
            <span className="timeline-progress figures">
              <Progress part={reported.part} label={`Progress of attempt ${number}: ${reported.words}`} />
              {reported.words}
            </span>
          )}
          {steps.length > 0 && <span>stored {namesOf(steps)}</span>}
          {lineCount > 0 && (
            <button type="button" className="as-link" onClick={onShowLog}>
              {plural(lineCount, 'log line')}
            </button>
          )}
        </span>
      )}
    </li>
  );
}

/** As in the log itself; a line that only informs is quiet here. */
const LEVELS: Readonly<Record<LogLevel, Tone>> = { debug: 'grey', info: 'grey', warn: 'amber', error: 'red' };

function namesOf(steps: readonly { readonly name: string }[]): string {
  const named = steps.slice(0, STEPS_NAMED).map(({ name }) => name);
  return [...named, ...(steps.length > STEPS_NAMED ? [`${steps.length - STEPS_NAMED} more`] : [])].join(', ');
}
