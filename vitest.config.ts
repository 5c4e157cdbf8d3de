import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { SlowFirst } from './packages/server/test/support/slow-first.js';

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    // Tests run the sources, so an edit is seen without a build. Only tests that spawn the binary use dist.
    alias: {
      '@millrace/contract': source('packages/contract/src/index.ts'),
      '@millrace/sdk/worker': source('packages/sdk/src/worker/index.ts'),
      '@millrace/sdk/testing': source('packages/sdk/src/testing/index.ts'),
      '@millrace/sdk/references': source('packages/sdk/src/workflow/references.ts'),
      '@millrace/sdk/otel': source('packages/sdk/src/otel/index.ts'),
      '@millrace/conformance': source('packages/conformance/src/index.ts'),
      '@millrace/sdk': source('packages/sdk/src/index.ts'),
      '@millrace/server/testing': source('packages/server/src/testing.ts'),
      '@millrace/server': source('packages/server/src/index.ts'),
      '@millrace/tools-shared': source('tools/shared/src/index.ts'),
    },
  },
  test: {
    include: ['{packages,tools}/*/test/**/*.test.ts'],
    globalSetup: ['packages/server/test/support/global-setup.ts'],
    // Every worker drives PostgreSQL as well, but many tests wait for a lease or a process most of their time: with two
    // workers, two cores are idle for half of the run.
    pool: 'forks',
    maxWorkers: 4,
    // Files that run in one worker share the modules: loading them anew for each file took a third of the run.
    isolate: false,
    sequence: { sequencer: SlowFirst },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
    // Colours, time zone and locale of whoever runs the tests must not decide their outcome.
    env: { TZ: 'America/New_York', MILLRACE_DEV: '' },
    restoreMocks: true,
    // A second, which is the default, is not long on a busy machine; and pages look again every two.
    expect: { poll: { timeout: 15_000 } },
  },
});
