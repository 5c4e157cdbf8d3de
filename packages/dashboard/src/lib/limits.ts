import type { QueueSettings, RateInput } from '@millrace/contract';
import { number, perWords } from './format.js';

/** "100 per minute", "100 per minute, up to 10 at once". */
export function rateText({ count, per_secs, burst }: RateInput): string {
  const rate = `${number(count)} per ${perWords(per_secs * 1000)}`;
  return burst === undefined || burst === null || burst === 1 ? rate : `${rate}, up to ${number(burst)} at once`;
}

/** What is set for a queue, in words; none if nothing is. */
export function settingsWords(settings: Pick<QueueSettings, 'running' | 'rate' | 'share'> | null): readonly string[] {
  if (settings === null) return [];
  const { running, rate, share } = settings;
  return [
    ...(running === null ? [] : [`at most ${number(running)} running`]),
    ...(rate === null ? [] : [rateText(rate)]),
    ...(share === null ? [] : ['tenants take turns']),
  ];
}
