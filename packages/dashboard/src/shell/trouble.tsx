import { useEffect, useState, type ReactNode } from 'react';
import { useAttention } from '../components/attention/use-attention.js';
import calmIcon from '../icon.svg';
import troubleIcon from '../icon-trouble.svg';
import { createStore, useStore } from '../lib/store.js';

/** Whether something red needs attention. */
const trouble = createStore(false);

export const useTrouble = (): boolean => useStore(trouble);

/** How often to look where the page itself does not; also while it is hidden, or its icon would show the past. */
const POLL_MS = 60_000;
/** The page comes first. */
const DELAY_MS = 2000;

/** The icon of the tab: with a red dot while the overview has something red. */
export function TroubleIcon(): ReactNode {
  const [enabled, setEnabled] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setEnabled(true), DELAY_MS);
    return () => window.clearTimeout(timer);
  }, []);
  const { attended } = useAttention('1h', { enabled, pollMs: POLL_MS, inBackground: true });
  const isRed = attended?.items.some(({ tone }) => tone === 'red') ?? false;
  useEffect(() => {
    trouble.set(isRed);
    document.querySelector('link[rel=icon]')?.setAttribute('href', isRed ? troubleIcon : calmIcon);
    return () => trouble.set(false);
  }, [isRed]);
  return null;
}
