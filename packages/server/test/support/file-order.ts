import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Short files that take long. In a new clone Vitest knows no durations and starts with the longest texts, so these
 * would come last, and the run would end with one worker busy and the others idle.
 */
const SLOW: readonly string[] = [
  'tools/fuzz/test/quick.full.test.ts',
  'packages/cli/test/packages.full.test.ts',
  'packages/cli/test/terminal.full.test.ts',
  'packages/server/test/cells/away-at-start.full.test.ts',
];

/** Slow files first; with MILLRACE_TEST_SEED (`npm run flakes`) in an order drawn from that seed. */
export class FileOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const missing = SLOW.filter((path) => !existsSync(`${root}/${path}`));
    if (missing.length > 0) throw new Error(`no such test, so not a slow one: ${missing.join(', ')}`);
    const pathOf = ({ moduleId }: TestSpecification): string => relative(root, moduleId).replaceAll('\\', '/');
    const seed = process.env.MILLRACE_TEST_SEED;
    if (seed !== undefined) {
      const rank = (file: TestSpecification): string =>
        createHash('sha256')
          .update(`${seed}\0${pathOf(file)}`)
          .digest('hex');
      return [...files].sort((a, b) => group(a) - group(b) || (rank(a) < rank(b) ? -1 : 1));
    }
    const place = (file: TestSpecification): number => {
      const index = SLOW.indexOf(pathOf(file));
      return index === -1 ? SLOW.length : index;
    };
    // The sort is stable: the others stay in the order that Vitest gives them.
    return (await super.sort(files)).sort((a, b) => group(a) - group(b) || place(a) - place(b));
  }
}

/** Projects that run alone come after those that do not. */
const group = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
