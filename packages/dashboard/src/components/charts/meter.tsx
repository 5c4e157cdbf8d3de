import type { ReactNode } from 'react';
import { number } from '../../lib/format.js';
import './meter.css';

/** How many of how many, as a bar and as figures: bars below each other begin at the same place. */
export function Meter({ done, of }: { readonly done: number; readonly of: number }): ReactNode {
  return (
    <span className="meter">
      <span className="meter-bar" aria-hidden="true">
        <span style={{ inlineSize: `${of === 0 ? 0 : (100 * done) / of}%` }} />
      </span>
      <span className="figures">
        {number(done)}/{number(of)}
      </span>
    </span>
  );
}
