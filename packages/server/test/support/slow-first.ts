import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Short files that take long. In a new clone Vitest knows no durations and starts with the longest texts, so these
 * would come last, and the run would end with one worker busy and the others idle.
 */
const SLOW = [
  'packages/conformance/test/kit.test.ts',
  'packages/cli/test/server/processes.test.ts',
  'packages/server/test/engine/workflows/large-context.test.ts',
  'packages/server/test/embedded/installations.test.ts',
  'packages/server/test/engine/workflows/large.test.ts',
  'packages/server/test/docs/commands.test.ts',
  'packages/server/test/embedded/crashes.test.ts',
  'packages/server/test/engine/killer.test.ts',
  'packages/server/test/engine/workflows/crash.test.ts',
  'packages/sdk/test/types.test.ts',
  'packages/dashboard/test/faults.test.ts',
  'packages/server/test/engine/workflows/fan-in.test.ts',
  'packages/sdk/test/getting-started.test.ts',
  'tools/fuzz/test/quick.test.ts',
  'packages/cli/test/packages.test.ts',
  'packages/dashboard/test/pages/queues.test.ts',
  'packages/cli/test/server/credentials.test.ts',
  'packages/sdk/test/conformance/conformance.test.ts',
  'packages/sdk/test/reference.test.ts',
];

export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const missing = SLOW.filter((path) => !existsSync(`${root}/${path}`));
    if (missing.length > 0) throw new Error(`no such test, so not a slow one: ${missing.join(', ')}`);
    const place = ({ moduleId }: TestSpecification): number => {
      const index = SLOW.indexOf(relative(root, moduleId).replaceAll('\\', '/'));
      return index === -1 ? SLOW.length : index;
    };
    // The sort is stable: the others stay in the order that Vitest gives them.
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}
