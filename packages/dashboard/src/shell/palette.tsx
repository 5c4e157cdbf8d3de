import type { CronPage, Queues, Tasks } from '@millrace/contract';
import { useState, type KeyboardEvent, type ReactNode } from 'react';
import { useRead } from '../api/hooks.js';
import { Dialog } from '../components/dialogs/dialog.js';
import { useWho } from '../session/session.js';
import { navOf } from './nav.js';
import { go } from '../lib/routing.js';

interface Goal {
  readonly key: string;
  readonly kind: string;
  readonly name: string;
  /** A path of the dashboard, with its query. */
  readonly to: string;
}

const SHOWN_MAX = 12;
const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

/** ⌘K: paste an id or a key, or type a part of a name. */
export function Palette({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const goals = useGoals(text.trim());
  const open = (goal: Goal | undefined): void => {
    if (goal === undefined) return;
    onClose();
    go(goal.to);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt(Math.min(Math.max(at + step, 0), goals.length - 1));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      open(goals[at]);
    }
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        className="input"
        role="combobox"
        aria-label="Id, key or name"
        aria-expanded="true"
        aria-controls="palette-goals"
        aria-activedescendant={goals[at] === undefined ? undefined : `goal-${at}`}
        placeholder="Paste an id or key, or type a name"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
        autoComplete="off"
        spellCheck={false}
      />
      <ul className="goals" id="palette-goals" role="listbox" aria-label="Where to">
        {goals.map((goal, index) => (
          <li
            key={goal.key}
            id={`goal-${index}`}
            role="option"
            aria-selected={index === at}
            onPointerMove={() => setAt(index)}
            onClick={() => open(goal)}
          >
            <span className="quiet">{goal.kind}</span> <span className="cut">{goal.name}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function useGoals(text: string): readonly Goal[] {
  const { kind } = useWho();
  const tenant = kind !== 'admin';
  const once = { pollMs: null, enabled: tenant };
  const queues = useRead<Queues>('/queues', { ...once, query: { idle: true } }).data?.queues ?? [];
  const tasks = useRead<Tasks>('/tasks', once).data?.tasks ?? [];
  const crons = useRead<CronPage>('/cron', { ...once, query: { limit: 100 } }).data?.crons ?? [];
  const pages = navOf(kind).flatMap(({ entries }) => [...entries]);
  const named: Goal[] = [
    ...pages.map(({ to, title }) => goal('page', title, to)),
    ...(tenant ? [goal('page', 'New job', '/jobs?new=1')] : []),
    ...queues.map(({ queue }) => goal('queue', queue, `/queues/${encodeURIComponent(queue)}`)),
    ...tasks.map((task) => goal('task', task, `/jobs?task=${encodeURIComponent(task)}`)),
    ...crons.map(({ name }) => goal('schedule', name, `/cron?name=${encodeURIComponent(name)}`)),
  ];
  const words = text.toLowerCase();
  const matching = named.filter(({ name }) => name.toLowerCase().includes(words));
  return [...(tenant ? byId(text) : []), ...matching].slice(0, SHOWN_MAX);
}

/** What the text may be if it is no name. */
function byId(text: string): Goal[] {
  if (UUID.test(text)) {
    return [
      goal('job', text, `/jobs/${text}`),
      goal('workflow', text, `/workflows/${text}`),
      goal('operation', text, `/operations/${text}`),
    ];
  }
  if (/^\d+$/.test(text)) return [goal('dead letter', text, `/dead-letters/${text}`), ...byKey(text)];
  return text === '' ? [] : byKey(text);
}

const byKey = (text: string): Goal[] => [
  goal('job with the key', text, `/jobs?idempotency_key=${encodeURIComponent(text)}`),
];

const goal = (kind: string, name: string, to: string): Goal => ({ key: `${kind} ${to}`, kind, name, to });
