import type { ReactNode } from 'react';
import { useAddress } from '../../lib/routing.js';
import { Icon } from '../icon.js';

interface PagerProps {
  readonly page: { readonly has_more?: boolean; readonly next_cursor?: string; readonly prev_cursor?: string };
  /** What the first page holds. */
  readonly first?: string;
}

/** Next and previous page of a list. The cursor stands in the address, so back and forward work too. */
export function Pager({ page, first = 'Newest' }: PagerProps): ReactNode {
  const [{ cursor }, setAddress] = useAddress();
  const next = page.has_more === true ? page.next_cursor : undefined;
  if (cursor === undefined && next === undefined) return null;
  return (
    <nav className="pager" aria-label="Pagination">
      <button
        type="button"
        className="button"
        disabled={cursor === undefined}
        onClick={() => setAddress({ cursor: undefined })}
      >
        <Icon name="first" size={14} /> {first}
      </button>
      <button
        type="button"
        className="button"
        disabled={cursor === undefined || page.prev_cursor === undefined}
        onClick={() => setAddress({ cursor: page.prev_cursor })}
      >
        <Icon name="left" size={14} /> Previous
      </button>
      <button
        type="button"
        className="button"
        disabled={next === undefined}
        onClick={() => setAddress({ cursor: next })}
      >
        Next <Icon name="right" size={14} />
      </button>
    </nav>
  );
}
