import { median } from '@millrace/tools-shared';
import type { Page } from 'playwright-core';
import type { Options } from './options.js';
import type { Cluster } from './stage/cluster.js';
import type { Windows } from './stage/browser.js';
import type { Client, Service } from './stage/service.js';

/** A line of the results. */
export interface Finding {
  readonly what: string;
  readonly result: string;
  /** What was aimed for; null if it is told, not judged. */
  readonly aim: string | null;
  readonly ok: boolean;
}

export interface Stage {
  readonly options: Options;
  readonly cluster: Cluster;
  readonly service: Service;
  readonly windows: Windows;
  readonly tenant: Client;
  readonly other: Client;
  readonly worker: Client;
  readonly say: (text: string) => void;
  /** Opens a page as the tenant; by way of another address if that is given. */
  visit(path: string, options?: { readonly url?: string; readonly expected?: RegExp }): Promise<Page>;
}

export interface Case {
  readonly name: string;
  /** A heading of the results. */
  readonly title: string;
  readonly run: (stage: Stage) => Promise<Finding[]>;
}

/** Something that either holds or does not. */
export const holds = (what: string, ok: boolean, result = ok ? 'yes' : 'no'): Finding => ({
  what,
  result,
  aim: 'yes',
  ok,
});

/** A time that was taken several times: the median is judged, and the range is told. */
export function tookAbout(what: string, values: readonly number[], belowMs: number): Finding {
  const [least, most] = [Math.min(...values), Math.max(...values)].map(Math.round);
  return took(what, median(values), belowMs, values.length > 1 ? ` (${least} to ${most})` : '');
}

/** A time that should stay below a bound. */
export const took = (what: string, ms: number, belowMs: number | null, note = ''): Finding => ({
  what,
  result: `${Math.round(ms)} ms${note}`,
  aim: belowMs === null ? null : `below ${belowMs} ms`,
  ok: belowMs === null || ms < belowMs,
});
