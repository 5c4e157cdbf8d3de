import type { CredentialSet, RunningMember, Snapshot } from '@millrace/server';

/**
 * What the parent says to one of its processes, over the channel between them. Questions carry a number, and the answer
 * carries it too. Credentials take no other way: arguments and variables can be read from outside.
 */
export type Order =
  | { readonly kind: 'stop' }
  /** Read the list of cells again. */
  | { readonly kind: 'cells' }
  | { readonly kind: 'credentials'; readonly set: CredentialSet }
  | ({ readonly id: number } & Question);

export type Question = { readonly kind: 'snapshot'; readonly withDatabase: boolean } | { readonly kind: 'ready' };

/** What a process says to the parent. */
export type Report =
  /** It listens to the parent now, and needs credentials to go on. */
  | { readonly kind: 'started' }
  | { readonly kind: 'serving'; readonly apiUrl: string | null }
  /** It could not start: the line for the operator. */
  | { readonly kind: 'failed'; readonly message: string; readonly exitCode: number }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer };

/** Undefined: there is one database. */
export type Cells = Awaited<ReturnType<RunningMember['cells']>>;

export type Answer =
  { readonly snapshot: Snapshot } | { readonly ready: boolean; readonly cells: Cells } | { readonly error: string };
