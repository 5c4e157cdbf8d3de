import type { Count } from '@millrace/contract';
import type { ReactNode } from 'react';
import { count } from '../lib/format.js';

/** A number that stands out; that it is an estimate is said in small. */
export function CountFigure({ of }: { readonly of: Count }): ReactNode {
  if (of.exact) return <span className="figure">{count(of)}</span>;
  const [word, ...rest] = count(of).split(' ');
  return (
    <span className="figure">
      <span className="about">{word}</span> {rest.join(' ')}
    </span>
  );
}
