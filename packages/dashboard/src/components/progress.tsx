import type { ReactNode } from 'react';

/** How much of something is done, between 0 and 1. */
export const Progress = ({ part, label }: { readonly part: number; readonly label: string }): ReactNode => (
  <progress className="progress" value={part} max={1} aria-label={label} />
);
