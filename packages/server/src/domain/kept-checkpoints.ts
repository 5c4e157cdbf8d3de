import { withMembers, withoutMember } from './json-members.js';
import type { JsonText } from './records.js';

/** Which checkpoints of a job its copy begins with: all (true), or those with these names. */
export type KeptCheckpoints = true | readonly string[];

/** So the worker knows that there is something to read at the first delivery. */
const MARK = 'kept_checkpoints';

/** Null: none. */
export const keptCheckpoints = (asked: boolean | readonly string[] | null | undefined): KeptCheckpoints | null =>
  asked === undefined || asked === null || asked === false ? null : asked;

/** The metadata of the copy. The first job may be a copy itself, whose mark says nothing of this one. */
export const markedAsKept = (metadata: JsonText, kept: KeptCheckpoints | null): JsonText =>
  kept === null ? withoutMember(metadata, MARK) : withMembers(metadata, [[MARK, 'true']]);
