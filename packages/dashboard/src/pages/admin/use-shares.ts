import type { AdminSeries } from '@millrace/contract';
import { SHARES_SPAN, useRead, type Read } from '../../api/hooks.js';

/** A step is written every 15 seconds. */
const PLOT_POLL_MS = 15_000;

/** Whose jobs ended in the last hours, of one queue or of all. */
export const useShares = (queue?: string): Read<AdminSeries> =>
  useRead<AdminSeries>('/admin/series', { query: { queue }, since: SHARES_SPAN, pollMs: PLOT_POLL_MS });
