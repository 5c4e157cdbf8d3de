import type { ReactNode } from 'react';
import { useNow } from '../lib/clock.js';
import { exact, relative } from '../lib/format.js';
import { useZone } from '../lib/preferences.js';

interface TimeProps {
  readonly at: string | null | undefined;
  /** What stands there if there is no instant. */
  readonly otherwise?: string;
}

/** An instant: relative, with the exact one on hover. */
export function Time({ at, otherwise = '–' }: TimeProps): ReactNode {
  const now = useNow();
  const zone = useZone();
  if (at === null || at === undefined) return <span className="quiet">{otherwise}</span>;
  return (
    <time dateTime={at} title={exact(at, zone)}>
      {relative(Date.parse(at), now)}
    </time>
  );
}

/** An instant in full. */
export function ExactTime({ at, otherwise = '–', unit = 'ms' }: TimeProps & { readonly unit?: 'ms' | 's' }): ReactNode {
  const zone = useZone();
  if (at === null || at === undefined) return <span className="quiet">{otherwise}</span>;
  return (
    <time dateTime={at} title={at}>
      {exact(at, zone, unit)}
    </time>
  );
}

/** A countdown to an instant: "0:21". */
export function Countdown({ to }: { readonly to: string }): ReactNode {
  const now = useNow();
  const seconds = Math.max(0, Math.round((Date.parse(to) - now) / 1000));
  return (
    <time dateTime={to} className="figures">
      {Math.floor(seconds / 60)}:{String(seconds % 60).padStart(2, '0')}
    </time>
  );
}
