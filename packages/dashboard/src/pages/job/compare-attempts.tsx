import type { Attempt } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Icon } from '../../components/icon.js';
import { WorkerLink } from '../../components/links.js';
import { Panel } from '../../components/page.js';
import { State } from '../../components/state.js';
import { ExactTime } from '../../components/time.js';
import { duration } from '../../lib/format.js';
import './compare.css';
import { useAddress } from '../../lib/routing.js';

/** Two attempts, by their numbers, as the address has them: `compare=1,3`. Null: that is not what it says. */
export function comparedOf(text: string | undefined, attempts: readonly Attempt[]): [Attempt, Attempt] | null {
  const [one, other] = (text ?? '').split(',').map((number) => attempts.find((each) => String(each.number) === number));
  return one === undefined || other === undefined ? null : [one, other];
}

/** Opens the comparison of the last two attempts; nothing while there are fewer. */
export function CompareButton({ attempts }: { readonly attempts: readonly Attempt[] }): ReactNode {
  const [{ compare }, setAddress] = useAddress();
  const [before, last] = attempts.slice(-2);
  if (before === undefined || last === undefined) return null;
  const isOpen = compare !== undefined;
  return (
    <button
      type="button"
      className="button small"
      aria-pressed={isOpen}
      onClick={() => setAddress({ compare: isOpen ? undefined : `${before.number},${last.number}` }, { replace: true })}
    >
      <Icon name="compare" size={14} /> Compare
    </button>
  );
}

interface CompareProps {
  readonly pair: readonly [Attempt, Attempt];
  readonly attempts: readonly Attempt[];
}

/** Two attempts side by side; what differs stands out. */
export function CompareAttempts({ pair, attempts }: CompareProps): ReactNode {
  const [, setAddress] = useAddress();
  const choose = (side: 0 | 1, number: string): void => {
    const numbers = pair.map((each) => String(each.number));
    numbers[side] = number;
    setAddress({ compare: numbers.join() }, { replace: true });
  };
  const stacks = pair.map(({ error_details: details }) => details?.stack ?? null);
  return (
    <Panel title="Compare attempts">
      <table className="compare">
        <thead>
          <tr>
            <td />
            {([0, 1] as const).map((side) => (
              <th key={side} scope="col">
                <select
                  className="input"
                  aria-label={side === 0 ? 'One attempt' : 'The other attempt'}
                  value={pair[side].number}
                  onChange={(event) => choose(side, event.target.value)}
                >
                  {attempts.map(({ number }) => (
                    <option key={number} value={number}>
                      #{number}
                    </option>
                  ))}
                </select>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {ROWS.map(({ title, of, show }) => (
            <tr key={title} className={of(pair[0]) === of(pair[1]) ? undefined : 'differs'}>
              <th scope="row">{title}</th>
              <td>{show(pair[0])}</td>
              <td>{show(pair[1])}</td>
            </tr>
          ))}
          {stacks.some((stack) => stack !== null) && (
            <tr>
              <th scope="row">stack</th>
              <td>
                <Stack text={stacks[0] ?? null} other={stacks[1] ?? null} number={pair[0].number} />
              </td>
              <td>
                <Stack text={stacks[1] ?? null} other={stacks[0] ?? null} number={pair[1].number} />
              </td>
            </tr>
          )}
        </tbody>
      </table>
    </Panel>
  );
}

interface ComparedRow {
  readonly title: string;
  /** What is compared: instants always differ, and say nothing by that. */
  readonly of: (attempt: Attempt) => unknown;
  readonly show: (attempt: Attempt) => ReactNode;
}

const tookOf = ({ started_at, ended_at }: Attempt): string =>
  started_at === null || ended_at === null ? '–' : duration(Date.parse(ended_at) - Date.parse(started_at));

const ROWS: readonly ComparedRow[] = [
  { title: 'outcome', of: ({ outcome }) => outcome, show: ({ outcome }) => <State state={outcome} /> },
  {
    title: 'worker',
    of: ({ worker_id: worker }) => worker,
    show: ({ worker_id: worker }) => (worker === null ? '–' : <WorkerLink id={worker} />),
  },
  { title: 'began', of: () => null, show: ({ started_at: at }) => <ExactTime at={at} /> },
  { title: 'took', of: tookOf, show: tookOf },
  {
    title: 'kind of error',
    of: ({ error_details: details }) => details?.name ?? null,
    show: ({ error_details: details }) => details?.name ?? '–',
  },
  {
    title: 'error',
    of: ({ error_message: message }) => message,
    show: ({ error_message: message }) => <span className="compare-text">{message ?? '–'}</span>,
  },
];

interface StackProps {
  readonly text: string | null;
  readonly other: string | null;
  readonly number: number;
}

/** Lines that the other one does not have stand out. */
function Stack({ text, other, number }: StackProps): ReactNode {
  if (text === null) return '–';
  const theirs = new Set(other?.split('\n'));
  return (
    <pre tabIndex={0} aria-label={`Stack of attempt ${number}, compared`}>
      {text.split('\n').map((line, index) => (
        <span key={index} className={other === null || theirs.has(line) ? undefined : 'differs'}>
          {line}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}
