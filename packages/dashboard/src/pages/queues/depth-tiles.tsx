import type { QueueDepth, QueueDetail, Series } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Meter } from '../../components/charts/meter.js';
import { Changed } from '../../components/changed.js';
import { Link } from '../../components/links.js';
import { Time } from '../../components/time.js';
import { serverNow } from '../../lib/clock.js';
import { drainWords, flowOf, rateWords, type Flow } from '../../lib/flow.js';
import { byState, HELD_STATES } from '../../lib/held.js';
import { number, roughly } from '../../lib/format.js';

/** Rates change when the server has written the next step. */
const RATE_POLL_MS = 15_000;

interface DepthTilesProps {
  readonly depth: QueueDepth;
  readonly slots: QueueDetail['slots'];
}

/** What the queue holds, how fast it goes, and who could do more. */
export function DepthTiles({ depth, slots }: DepthTilesProps): ReactNode {
  const { queue } = depth;
  const { data } = useRead<Series>('/series', { query: { queue }, pollMs: RATE_POLL_MS, keepPrevious: false });
  const held = byState(depth);
  const flow = data === undefined ? null : flowOf(data, serverNow());
  const age = depth.oldest_pending_age_secs;
  return (
    <ul className="tiles depth" aria-label="What the queue holds">
      {HELD_STATES.map((state) => (
        <JobTile key={state} name={state} n={held[state]} filter={{ queue, status: state }} />
      ))}
      <Tile name="oldest due">{age === null ? '–' : roughly(age * 1000)}</Tile>
      {flow !== null && <FlowTiles flow={flow} due={depth.pending} />}
      {slots !== null && (
        <Tile
          name="slots in use"
          title="By jobs of all tenants"
          about={<Meter done={slots.in_use} of={slots.offered} isBare />}
        >
          {number(slots.in_use)} of {number(slots.offered)}
        </Tile>
      )}
      <Tile name="a worker last asked">
        <Time at={depth.last_lease_at} otherwise="not in 24 h" />
      </Tile>
    </ul>
  );
}

const FlowTiles = ({ flow, due }: { readonly flow: Flow; readonly due: number }): ReactNode => (
  <>
    <Tile name="comes in" about="last 5 min">
      {rateWords(flow.in)}
    </Tile>
    <Tile name="goes out" about="last 5 min">
      {rateWords(flow.out)}
    </Tile>
    <Tile name="empty in" about="at this rate">
      {drainWords(due, flow)}
    </Tile>
  </>
);

interface TileProps {
  readonly name: string;
  readonly title?: string;
  readonly about?: ReactNode;
  readonly children: ReactNode;
}

const Tile = ({ name, title, about, children }: TileProps): ReactNode => (
  <li>
    <span className="tile" title={title}>
      <span className="quiet">{name}</span>
      <span className="figure">{children}</span>
      {about !== undefined && <span className="about">{about}</span>}
    </span>
  </li>
);

interface JobTileProps {
  readonly name: string;
  readonly n: number;
  readonly filter: Readonly<Record<string, string>>;
}

/** None leads nowhere. */
const JobTile = ({ name, n, filter }: JobTileProps): ReactNode =>
  n === 0 ? (
    <Tile name={name}>
      <span className="zero">0</span>
    </Tile>
  ) : (
    <li>
      <Link to="/jobs" search={filter}>
        <span className="quiet">{name}</span>
        <Changed className="figure" value={number(n)} />
      </Link>
    </li>
  );
