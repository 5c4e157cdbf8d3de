import type { Snapshot } from '@millrace/server';

/** What the parent says to one of its processes. Questions carry a number, and the answer carries it too. */
export type Order = { readonly kind: 'stop' | 'reload' } | ({ readonly id: number } & Question);

export type Question = { readonly kind: 'snapshot'; readonly withDatabase: boolean } | { readonly kind: 'ready' };

/** What a process says to the parent. */
export type Report =
  | { readonly kind: 'serving'; readonly apiUrl: string | null }
  /** It could not start: the line for the operator. */
  | { readonly kind: 'failed'; readonly message: string; readonly exitCode: number }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer };

export type Answer = { readonly snapshot: Snapshot } | { readonly ready: boolean } | { readonly error: string };
