import { MillraceError } from '../../domain/errors.js';
import type { Execute } from '../../store/connection/database.js';
import type { AfterCommit } from '../outcomes/after-commit.js';
import type { Resumer } from '../workflows/resumer.js';

/** Every step that failed or was cancelled. */
const ALL = { steps: null, context: null } as const;

/**
 * Resumes many workflows of one tenant in a transaction of the caller, each as a single resume would. Returns how many
 * go on: one that goes on already, or is gone, is left alone. Those are found before anything of them is written.
 */
export async function resumeWorkflows(
  execute: Execute,
  tenant: string,
  ids: readonly string[],
  resumer: Resumer,
  afterCommit: AfterCommit,
): Promise<number> {
  let resumed = 0;
  for (const id of ids) {
    try {
      await resumer.resumeIn(execute, { tenant, id }, ALL, afterCommit);
      resumed++;
    } catch (error) {
      if (!(error instanceof MillraceError) || !LEFT_ALONE.includes(error.code)) throw error;
    }
  }
  return resumed;
}

const LEFT_ALONE: readonly string[] = ['conflict', 'not_found'];
