import type { Series } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Sparkline } from '../../components/charts/chart.js';
import { barsOf } from '../../components/charts/scale.js';
import { Changed } from '../../components/changed.js';
import { Icon } from '../../components/icon.js';
import { Loaded } from '../../components/notes.js';
import { spanWords } from '../../components/tables/filters.js';
import { sinceOf } from '../../components/since.js';
import { serverNow } from '../../lib/clock.js';
import { duration, number, roughly } from '../../lib/format.js';
import type { Tone } from '../../lib/states.js';
import { changeWords, countsOf, failureRate, waitOf } from './comparison.js';

/** The same as the plots: it changes when the server has written the next step. */
const POLL_MS = 15_000;

interface Card {
  readonly title: string;
  readonly tone: Tone;
  readonly figure: string;
  /** The same of the span before, in words; null where it is not known. */
  readonly before: string | null;
  readonly change: { readonly words: string; readonly isUp: boolean; readonly good: 'up' | 'down' | null } | null;
  readonly line: readonly (number | null)[];
}

/** What happened in the chosen span, each figure beside that of the span before. */
export function SpanCards({ span }: { readonly span: string }): ReactNode {
  const since = sinceOf('from', span);
  const now = useRead<Series>('/series', { since, pollMs: POLL_MS });
  const earlier = since === undefined ? undefined : { ...since, beforeAs: 'to' };
  const before = useRead<Series>('/series', { since: earlier, pollMs: POLL_MS });
  return (
    <Loaded read={now} what="What happened" shape="tiles">
      {(series) => (
        <ul className="tiles cards" aria-label={`In the ${spanWords(span)}`}>
          {cardsOf(series, before.data).map((card) => (
            <li key={card.title}>
              <CardView card={card} />
            </li>
          ))}
        </ul>
      )}
    </Loaded>
  );
}

function cardsOf(series: Series, earlier: Series | undefined): Card[] {
  const { from, step_secs, columns } = series;
  const { sums: allOf, longest, whole } = barsOf(Date.parse(from), step_secs, columns.created.length, serverNow());
  const sums = (values: readonly number[]): number[] => allOf(values).slice(...whole);
  const counted = (
    title: string,
    column: 'created' | 'completed' | 'failed' | 'retried',
    tone: Tone,
    good: 'up' | 'down' | null,
  ): Card => {
    const { now, before } = countsOf(column, series, earlier);
    return {
      ...{ title, tone },
      figure: number(now),
      before: before === null ? null : number(before),
      change: before === null ? null : { words: changeWords(now, before), isUp: now > before, good },
      line: sums(series.columns[column]),
    };
  };
  return [
    counted('Completed', 'completed', 'green', 'up'),
    counted('Failed', 'failed', 'red', 'down'),
    rateCard(series, earlier, sums),
    counted('Retried', 'retried', 'amber', 'down'),
    counted('Created', 'created', 'accent', null),
    waitCard(series, earlier, longest(columns.wait_p95).slice(...whole)),
  ];
}

function rateCard(series: Series, earlier: Series | undefined, sums: (values: readonly number[]) => number[]): Card {
  const { now, before } = failureRate(countsOf('completed', series, earlier), countsOf('failed', series, earlier));
  const completed = sums(series.columns.completed);
  const line = sums(series.columns.failed).map((n, index) => (n === 0 ? 0 : (100 * n) / (n + (completed[index] ?? 0))));
  return {
    ...{ title: 'Failure rate', tone: 'red', line },
    figure: now === null ? '–' : percent(now),
    before: before === null ? null : percent(before),
    change: now === null || before === null ? null : { words: points(now - before), isUp: now > before, good: 'down' },
  };
}

function waitCard(series: Series, earlier: Series | undefined, line: Card['line']): Card {
  const now = waitOf(series);
  const before = earlier === undefined ? null : waitOf(earlier);
  return {
    ...{ title: 'Wait, p95', tone: 'blue', line },
    figure: now === null ? '–' : shortly(now),
    before: before === null ? null : shortly(before),
    change:
      now === null || before === null ? null : { words: changeWords(now, before), isUp: now > before, good: 'down' },
  };
}

/** In one unit from a minute on: a card is narrow. */
const shortly = (secs: number): string => (secs < 60 ? duration(secs * 1000) : roughly(secs * 1000));

const percent = (part: number): string => `${Number((part * 100).toFixed(part < 0.1 ? 1 : 0))}%`;
const points = (difference: number): string => {
  const rounded = Number((Math.abs(difference) * 100).toFixed(1));
  return rounded === 0 ? 'same' : `${rounded} pts`;
};

function CardView({ card: { title, tone, figure, before, change, line } }: { readonly card: Card }): ReactNode {
  return (
    <div className="tile">
      <span className="quiet">{title}</span>
      <Changed className="figure" value={figure} />
      <span className="card-end">
        {change !== null && <ChangeMark {...change} />}
        <span className="about">{before === null ? 'nothing before' : `before: ${before}`}</span>
      </span>
      <Sparkline values={line} tone={tone} label={`${title}: ${figure}`} isDecoration />
    </div>
  );
}

function ChangeMark({ words, isUp, good }: NonNullable<Card['change']>): ReactNode {
  const tone = words === 'same' || good === null ? 'grey' : isUp === (good === 'up') ? 'green' : 'red';
  return (
    <span className={`change tone-${tone}`} title="Compared with the span before">
      {words !== 'same' && (
        <>
          <Icon name={isUp ? 'arrowUp' : 'arrowDown'} size={11} />
          <span className="visually-hidden">{isUp ? 'up' : 'down'} </span>
        </>
      )}
      {words}
    </span>
  );
}
