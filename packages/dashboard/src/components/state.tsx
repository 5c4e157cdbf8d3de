import type { ReactNode } from 'react';
import { Icon } from './icon.js';
import { LOOKS, type AnyState } from '../lib/states.js';

/** A state: a colour and a shape and a word. */
export function State({ state, children }: { readonly state: AnyState; readonly children?: ReactNode }): ReactNode {
  const { icon, tone, word } = LOOKS[state];
  return (
    <span className={`state tone-${tone}`}>
      <Icon name={icon} size={14} />
      {children ?? word}
    </span>
  );
}
