import type { ReactNode } from 'react';
import type { Address } from '../lib/address.js';
import { number } from '../lib/format.js';
import { Link } from './links.js';

interface JobCountProps {
  readonly n: number;
  /** The list of jobs that it counts, if there is one. */
  readonly filter?: Address | undefined;
}

/** How many jobs, as a link to them. None leads nowhere, and does not look as if it did. */
export function JobCount({ n, filter }: JobCountProps): ReactNode {
  if (n === 0) return <span className="zero">0</span>;
  if (filter === undefined) return number(n);
  return (
    <Link to="/jobs" search={filter}>
      {number(n)}
    </Link>
  );
}
