import type { Workflow } from '@millrace/contract';
import { memo, useDeferredValue, useMemo, type ReactNode } from 'react';
import { Icon } from '../../components/icon.js';
import { useNow } from '../../lib/clock.js';
import { duration } from '../../lib/format.js';
import { LOOKS, type AnyState } from '../../lib/states.js';
import type { BarTimes } from './times.js';
import { hasWorkflowEnded } from './use-workflow.js';

/** More bars than fit into their frame: the rest of a thousand is drawn after the graph is on the screen. */
const AT_FIRST = 40;

interface TimeBarsProps {
  readonly workflow: Workflow;
  readonly times: readonly BarTimes[];
  readonly states: ReadonlyMap<string, AnyState>;
  readonly critical: ReadonlySet<string>;
  readonly selected: string | undefined;
  readonly onSelect: (name: string) => void;
}

/** One bar per step, on one scale: where the time went. Also the list by which the keyboard reaches each step. */
export function TimeBars({ workflow, times, states, critical, selected, onSelect }: TimeBarsProps): ReactNode {
  const now = useNow();
  const rows = useMemo(
    () => [...times].sort((one, other) => (one.startedAt ?? Infinity) - (other.startedAt ?? Infinity) || 0),
    [times],
  );
  const shown = useDeferredValue(rows, rows.slice(0, AT_FIRST));
  const begin = Date.parse(workflow.created_at);
  const lastEnd = times.reduce((latest, { endedAt }) => Math.max(latest, endedAt ?? 0), begin);
  const end = hasWorkflowEnded(workflow) ? lastEnd : Math.max(now, lastEnd);
  const scale = Math.max(1, end - begin);
  return (
    <ol className="bars" tabIndex={0} aria-label="Steps by time" style={{ flexBasis: heightFor(rows.length) }}>
      {shown.map((row) => (
        <Bar
          key={row.name}
          name={row.name}
          status={states.get(row.name) ?? 'pending'}
          {...spanOf(row, begin, end, scale)}
          critical={critical.has(row.name)}
          selected={row.name === selected}
          onSelect={onSelect}
        />
      ))}
    </ol>
  );
}

const ROW_PX = 24;
const PADDING_PX = 8;

/** As high as they are, up to half of the window; more if the graph beside them is higher. */
const heightFor = (rows: number): string => `min(${rows * ROW_PX + PADDING_PX}px, 50vh)`;

/** In thousandths, rounded, so that a bar that has not visibly moved is not drawn again. */
function spanOf({ readyAt, startedAt, endedAt }: BarTimes, begin: number, end: number, scale: number): Span {
  const at = (instant: number): number => Math.round((1000 * (instant - begin)) / scale);
  if (startedAt === null) return { wait: null, from: null, to: null, ms: null };
  const stop = endedAt ?? end;
  const wait = readyAt !== null && readyAt < startedAt ? at(readyAt) : null;
  return { wait, from: at(startedAt), to: at(stop), ms: Math.max(0, stop - startedAt) };
}

interface Span {
  readonly wait: number | null;
  readonly from: number | null;
  readonly to: number | null;
  readonly ms: number | null;
}

interface BarProps extends Span {
  readonly name: string;
  readonly status: AnyState;
  readonly critical: boolean;
  readonly selected: boolean;
  readonly onSelect: (name: string) => void;
}

const percent = (thousandths: number): string => `${thousandths / 10}%`;

const Bar = memo(function Bar(props: BarProps): ReactNode {
  const { name, status, wait, from, to, ms, critical, selected, onSelect } = props;
  const { icon, tone, word } = LOOKS[status];
  const classes = ['bar', `tone-${tone}`, critical && 'critical'].filter(Boolean).join(' ');
  return (
    <li>
      <button type="button" className={classes} aria-pressed={selected} onClick={() => onSelect(name)}>
        <span className="bar-name">
          <Icon name={icon} size={14} /> <span className="cut">{name}</span>
          <span className="visually-hidden">, {word}</span>
        </span>
        <span className="bar-track" aria-hidden="true">
          {wait !== null && from !== null && (
            <span className="bar-wait" style={{ insetInlineStart: percent(wait), inlineSize: percent(from - wait) }} />
          )}
          {from !== null && to !== null && (
            <span className="bar-run" style={{ insetInlineStart: percent(from), inlineSize: percent(to - from) }} />
          )}
        </span>
        <span className="bar-took figures">{ms === null ? '' : duration(ms)}</span>
      </button>
    </li>
  );
});
