import type { Address } from '../../lib/address.js';
import { byState, HELD_STATES, type Held } from '../../lib/held.js';
import { capital } from '../../lib/format.js';
import { JobCount } from '../job-count.js';
import type { Column } from './table.js';

/** How many jobs a row holds in each state; each number leads to those jobs, if there is a list that has them. */
export const heldColumns = <T extends Held>(filterOf?: (row: T) => Address): readonly Column<T>[] =>
  HELD_STATES.map((state) => ({
    key: state,
    title: capital(state),
    numeric: true,
    cell: (row) => <JobCount n={byState(row)[state]} filter={filterOf && { ...filterOf(row), status: state }} />,
  }));
