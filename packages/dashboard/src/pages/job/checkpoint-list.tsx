import type { Checkpoint, Checkpoints } from '@millrace/contract';
import { useMemo, type ReactNode } from 'react';
import { RawJson } from '../../components/json/json.js';
import { Panel } from '../../components/page.js';
import { Time } from '../../components/time.js';
import { duration, plural } from '../../lib/format.js';
import { elementsOf, membersOf } from '../../lib/json/slice.js';
import type { Moment } from './moments.js';

/** Values that are longer are folded at first. */
const OPEN_CHARS = 200;

interface CheckpointListProps {
  readonly stored: Checkpoints;
  /** The same as it came: values are shown to the byte. */
  readonly text: string;
  readonly moments: readonly Moment[];
}

/** What a durable job has stored: each with its value, and how long after the moment before it. */
export function CheckpointList({ stored, text, moments }: CheckpointListProps): ReactNode {
  const values = useMemo(
    () => elementsOf(membersOf(text).get('checkpoints') ?? '[]').map((each) => membersOf(each).get('value')),
    [text],
  );
  return (
    <Panel title="Checkpoints" aside={plural(stored.checkpoints.length, 'step')}>
      <ol className="checkpoints">
        {stored.checkpoints.map((checkpoint, index) => (
          <CheckpointView
            key={checkpoint.name}
            checkpoint={checkpoint}
            value={values[index] ?? 'null'}
            tookMs={tookMs(checkpoint, moments)}
          />
        ))}
      </ol>
    </Panel>
  );
}

interface CheckpointViewProps {
  readonly checkpoint: Checkpoint;
  readonly value: string;
  readonly tookMs: number | null;
}

function CheckpointView({ checkpoint, value, tookMs: took }: CheckpointViewProps): ReactNode {
  const { name, attempt, at } = checkpoint;
  return (
    <li>
      <div className="checkpoint">
        <b>{name}</b>
        <span className="figures">{took === null ? '' : `took ${duration(took)}`}</span>
        <span>
          stored <Time at={at} />
        </span>
        <span className="quiet">attempt {attempt}</span>
      </div>
      <details open={value.length <= OPEN_CHARS}>
        <summary className="quiet">Value</summary>
        <RawJson text={value} label={`Value of ${name}`} />
      </details>
    </li>
  );
}

/** Since the moment before: its attempt began, the step before it was stored, or the job was put to wait. */
function tookMs({ name, at }: Checkpoint, moments: readonly Moment[]): number | null {
  const index = moments.findIndex((moment) => moment.checkpoint === name);
  const before = moments[index - 1]?.at ?? null;
  return index < 1 || before === null ? null : Math.max(0, Date.parse(at) - Date.parse(before));
}
