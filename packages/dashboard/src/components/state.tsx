import type { ReactNode } from 'react';
import { LOOKS, type AnyState } from '../lib/states.js';

/** A state: a colour and a shape and a word. */
export function State({ state, children }: { readonly state: AnyState; readonly children?: ReactNode }): ReactNode {
  const { shape, tone, word } = LOOKS[state];
  return (
    <span className={`state tone-${tone}`}>
      <span className="shape" aria-hidden="true">
        {shape}
      </span>
      {children ?? word}
    </span>
  );
}
