import type { CronFiringKind } from '@millrace/contract';
import { memo, useMemo, type ReactNode } from 'react';
import { stripOf } from '../../lib/cron/strip.js';
import { clock, plural } from '../../lib/format.js';
import { useZone } from '../../lib/preferences.js';
import { FiringLink } from './firing-link.js';
import type { Firings } from './use-firings.js';

const KINDS: Readonly<Record<CronFiringKind, string>> = {
  on_time: 'on time',
  catch_up: 'late, after a pause of the servers',
  triggered: 'by hand',
  skipped: 'skipped: the last one had not ended',
};

/** Minutes are enough: the strip shows a day, and a mark is ten minutes wide. */
const MINUTE = 60_000;

interface FiringStripProps {
  readonly firings: Firings;
  readonly now: number;
  /** Whether the keyboard stops at each mark; not in lists, where there would be thousands. */
  readonly isFocusable?: boolean;
}

/** The last 24 hours of a schedule; each mark leads to its job or workflow. */
export function FiringStrip({ firings, now, isFocusable = false }: FiringStripProps): ReactNode {
  return <StripMarks firings={firings} minute={Math.ceil(now / MINUTE)} isFocusable={isFocusable} />;
}

const StripMarks = memo(function StripMarks(props: {
  readonly firings: Firings;
  readonly minute: number;
  readonly isFocusable: boolean;
}): ReactNode {
  const { firings, minute, isFocusable } = props;
  const zone = useZone();
  const strip = useMemo(() => stripOf(firings.items, firings.isComplete, minute * MINUTE), [firings, minute]);
  const total = strip.marks.reduce((sum, { count }) => sum + count, 0);
  return (
    <ol className="strip" aria-label={`${plural(total, 'firing')} in the last 24 hours, as far as known`}>
      {strip.unknownTo > 0 && (
        <li
          className="strip-unknown"
          style={{ inlineSize: `${100 * strip.unknownTo}%` }}
          title="Older firings are not shown here."
        />
      )}
      {strip.marks.map(({ at, from, to, count, kind, jobId, workflowId }) => {
        const times = count === 1 ? 'once' : `${count} times`;
        const title = `${clock(from, zone)}–${clock(to, zone)}: fired ${times}, ${KINDS[kind]}`;
        return (
          <li key={at} className={`strip-mark ${kind}`} style={{ insetInlineStart: `${100 * at}%` }}>
            <FiringLink
              jobId={jobId}
              workflowId={workflowId}
              title={title}
              aria-label={title}
              tabIndex={isFocusable ? 0 : -1}
            />
          </li>
        );
      })}
    </ol>
  );
});

export const kindInWords = (kind: CronFiringKind): string => KINDS[kind];
