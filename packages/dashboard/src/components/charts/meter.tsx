import type { ReactNode } from 'react';
import { number } from '../../lib/format.js';
import './meter.css';

interface MeterProps {
  readonly done: number;
  readonly of: number;
  /** Without the figures, which stand beside it. */
  readonly isBare?: boolean;
}

/** How many of how many, as a bar and as figures: bars below each other begin at the same place. */
export function Meter({ done, of, isBare = false }: MeterProps): ReactNode {
  return (
    <span className="meter">
      <span className="meter-bar" aria-hidden="true">
        <span style={{ inlineSize: `${of === 0 ? 0 : Math.min(100, (100 * done) / of)}%` }} />
      </span>
      {!isBare && (
        <span className="figures">
          {number(done)}/{number(of)}
        </span>
      )}
    </span>
  );
}
