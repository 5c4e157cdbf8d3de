import { useEffect, useRef } from 'react';

export type Keys = Readonly<Record<string, () => unknown>>;

const TYPING = 'input, textarea, select, [contenteditable]';
/** What Enter and the space bar already mean something on. */
const PRESSABLE = 'a, button, summary, input';

/** Keys of a page or a component, while nobody types and no dialog is open. */
export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  useEffect(() => {
    current.current = keys;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.target instanceof Element ? event.target : document.body;
      const box = target.matches('input[type=checkbox]');
      if ((target.matches(TYPING) && !box) || document.querySelector('dialog[open]') !== null) return;
      if ((event.key === 'Enter' || event.key === ' ') && target.matches(PRESSABLE)) return;
      const action = current.current[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

/** Shortcuts with ⌘ or Ctrl, which work while typing too. */
export function useChord(key: string, action: () => void): void {
  const current = useRef(action);
  useEffect(() => {
    current.current = action;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== key || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      current.current();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [key]);
}
