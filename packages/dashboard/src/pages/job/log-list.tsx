import type { LogLevel } from '@millrace/contract';
import { memo, useLayoutEffect, useRef, type ReactNode } from 'react';
import { Panel } from '../../components/page.js';
import { ExactTime } from '../../components/time.js';
import { plural } from '../../lib/format.js';
import type { Tone } from '../../lib/states.js';
import type { Log, ShownLine } from './use-log.js';
import './log.css';

const TONES: Readonly<Record<LogLevel, Tone>> = { debug: 'grey', info: 'plain', warn: 'amber', error: 'red' };

/** So close to the end counts as there. */
const NEAR_PX = 8;

/**
 * What the handlers of a job wrote: nothing is shown of a job whose handlers wrote nothing. While it runs, the last
 * lines stay in view, unless somebody has scrolled away from them.
 */
export function LogList({ log, isRunning }: { readonly log: Log; readonly isRunning: boolean }): ReactNode {
  const list = useRef<HTMLOListElement>(null);
  const isAtEnd = useRef(isRunning);
  useLayoutEffect(() => {
    if (list.current !== null && isAtEnd.current) list.current.scrollTop = list.current.scrollHeight;
  }, [log.lines]);
  if (log.lines.length === 0) return null;
  return (
    <Panel title="Log" aside={countOf(log)}>
      <ol
        className="log-lines"
        aria-label="Log"
        // Who has no mouse scrolls with the keys.
        tabIndex={0}
        ref={list}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight >= scrollHeight - NEAR_PX;
        }}
      >
        {log.lines.map((line) => (
          <Line key={`${line.attempt} ${line.seq}`} line={line} />
        ))}
      </ol>
    </Panel>
  );
}

function countOf({ lines, omitted, dropped }: Log): string {
  const shown = dropped === 0 ? plural(lines.length, 'line') : `the last ${plural(lines.length, 'line')}`;
  return omitted === 0 ? shown : `${shown}, ${omitted.toLocaleString('en')} not kept`;
}

const Line = memo(function Line({ line }: { readonly line: ShownLine }): ReactNode {
  const { attempt, at, level, message, fields } = line;
  return (
    <li className={`tone-${TONES[level]}`}>
      <span className="log-head">
        <ExactTime at={at} />{' '}
        <span>
          #{attempt} <span className="log-level">{level}</span>
        </span>
      </span>{' '}
      <span className="log-text mono">
        {message}
        {fields !== null && <code className="quiet"> {fields}</code>}
      </span>
    </li>
  );
});
