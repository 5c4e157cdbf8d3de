import type { ReactNode } from 'react';

/** The wheel of a mill, with the water that turns it. */
export const Brand = (): ReactNode => (
  <svg className="brand-mark" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" focusable="false">
    <circle cx="12" cy="10.5" r="6" />
    <path d="M12 2v17M3.5 10.5h17M6 4.5l12 12M18 4.5l-12 12" />
    <path className="brand-water" d="M1.5 20.5c2 0 2-1.5 4-1.5s2 1.5 4 1.5 2-1.5 4-1.5 2 1.5 4 1.5 2-1.5 4-1.5" />
  </svg>
);
