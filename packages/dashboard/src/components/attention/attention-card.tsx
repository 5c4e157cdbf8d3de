import { useState, type ReactNode } from 'react';
import { bringBack, putAside } from '../../lib/aside.js';
import type { Attention } from '../../lib/attention.js';
import { plural } from '../../lib/format.js';
import { Icon, type IconName } from '../icon.js';
import { State } from '../state.js';
import type { Attended } from './use-attention.js';
import './attention.css';

/** So many lines are worth their room; the rest unfolds. */
const SHOWN = 3;

interface AttentionCardProps {
  readonly attended: Attended;
  /** What can be done about a line. */
  readonly actions: (subject: Attention['subject']) => ReactNode;
}

/** One card for everything that is wrong, the worst first, each with what to do about it. */
export function AttentionCard({ attended: { items, away, asideKey }, actions }: AttentionCardProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const shown = isOpen ? items : items.slice(0, SHOWN);
  return (
    <section className="panel attention">
      {items.length === 0 ? (
        <p>
          <State state="completed">Nothing needs attention.</State>
        </p>
      ) : (
        <>
          <header>
            <h2>Needs attention</h2>
            <span className="quiet figures">{items.length}</span>
          </header>
          <ul aria-label="Needs attention">
            {shown.map((item) => (
              <Line key={item.key} item={item} asideKey={asideKey(item)} actions={actions(item.subject)} />
            ))}
          </ul>
        </>
      )}
      {(items.length > SHOWN || away.length > 0) && (
        <footer>
          {items.length > SHOWN && (
            <button type="button" className="button small quiet" onClick={() => setOpen(!isOpen)}>
              {isOpen ? 'Show less' : `${items.length - SHOWN} more`}
            </button>
          )}
          {away.length > 0 && (
            <button type="button" className="button small quiet" onClick={() => bringBack(away.map(asideKey))}>
              {plural(away.length, 'line')} put aside: bring back
            </button>
          )}
        </footer>
      )}
    </section>
  );
}

const ICONS: Readonly<Record<Attention['subject']['kind'], IconName>> = {
  stuck: 'alert',
  'dead letters': 'deadLetters',
  slow: 'clock',
  paused: 'pause',
};

interface LineProps {
  readonly item: Attention;
  readonly asideKey: string;
  readonly actions: ReactNode;
}

const Line = ({ item: { tone, text, mark, subject }, asideKey, actions }: LineProps): ReactNode => (
  <li className={`tone-${tone}`}>
    <Icon name={ICONS[subject.kind]} />
    <span className="attention-text">{text}</span>
    <span className="attention-do">
      {actions}
      <button
        type="button"
        className="button small quiet"
        aria-label={`Put aside until it changes: ${text}`}
        title="Put aside until it changes"
        onClick={() => putAside(asideKey, mark)}
      >
        <Icon name="aside" size={14} />
      </button>
    </span>
  </li>
);
