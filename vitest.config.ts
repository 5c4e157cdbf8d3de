import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';
import { FileOrder } from './packages/server/test/support/file-order.js';
import { DEADLINE_MS, PATIENCE_MS } from './tools/shared/src/deadline.js';

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const CORES = availableParallelism();

/** Colours, time zone and locale of whoever runs the tests must not decide their outcome. */
const ENV = { TZ: 'America/New_York', MILLRACE_DEV: '' };

/** Files that check properties or race run again in `npm run test:full`, with many more cases. */
const propertyTests = ['packages', 'tools'].flatMap((folder) =>
  readdirSync(source(folder), { recursive: true, encoding: 'utf8' })
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
    .filter((path) => /^[^/]+\/[^/]+\/test\/.*(?<!\.full)\.test\.ts$/.test(path))
    .filter((path) => /'fast-check'|\/cases\.js'/.test(readFileSync(source(path), 'utf8'))),
);

/** `npm run map` names an export that does nothing but throw: FILE#NAME. */
const [brokenFile = '', brokenName = ''] = (process.env.MILLRACE_BREAK ?? '').split('#');
const breaking: Plugin = {
  name: 'millrace-break',
  enforce: 'pre',
  transform: async (code, id) => {
    if (id.split('?')[0] !== source(brokenFile)) return null;
    const { brokenSource } = await import('./tools/shared/src/broken-export.js');
    return { code: brokenSource(code, brokenName) ?? code, map: null };
  },
};

const resolve = {
  // Tests run the sources, so an edit is seen without a build. Only tests that spawn the binary use dist.
  alias: {
    '@millrace/contract': source('packages/contract/src/index.ts'),
    '@millrace/sdk/worker': source('packages/sdk/src/worker/index.ts'),
    '@millrace/sdk/testing': source('packages/sdk/src/testing/index.ts'),
    '@millrace/sdk/durable': source('packages/sdk/src/durable/index.ts'),
    '@millrace/sdk/references': source('packages/sdk/src/workflow/references.ts'),
    '@millrace/sdk/rules': source('packages/sdk/src/rules/index.ts'),
    '@millrace/sdk/otel': source('packages/sdk/src/otel/index.ts'),
    '@millrace/conformance': source('packages/conformance/src/index.ts'),
    '@millrace/sdk': source('packages/sdk/src/index.ts'),
    '@millrace/server/testing': source('packages/server/src/testing.ts'),
    '@millrace/server': source('packages/server/src/index.ts'),
    '@millrace/tools-shared': source('tools/shared/src/index.ts'),
  },
};

/**
 * A group of test files, by the ends of their names. Groups run one after the other.
 * `npm test`: quick and alone. `npm run test:full`: the others.
 */
const project = (name: string, order: number, include: string[], rest: object = {}): object => ({
  plugins: brokenFile === '' ? [] : [breaking],
  resolve,
  // Of TypeScript, .cts is left out unless it is named.
  esbuild: { include: /\.([cm]?ts|[jt]sx)$/ },
  test: {
    name,
    include,
    sequence: { groupOrder: order, sequencer: FileOrder },
    setupFiles: ['packages/server/test/support/cases.ts', 'packages/server/test/support/validators.ts'],
    pool: 'forks',
    // A worker waits for PostgreSQL or for a timer nearly half of the time.
    maxWorkers: CORES + 1,
    // Files that run in one worker share the modules: loading them anew for each file took a third of the run.
    isolate: false,
    testTimeout: DEADLINE_MS,
    hookTimeout: DEADLINE_MS,
    teardownTimeout: DEADLINE_MS,
    expect: { poll: { timeout: PATIENCE_MS } },
    env: ENV,
    restoreMocks: true,
    ...rest,
  },
});

const every = (end: string): string => `{packages,tools}/*/test/**/*${end}.test.ts`;

export default defineConfig({
  test: {
    // Here and not in the groups, which would each start a PostgreSQL.
    globalSetup: ['packages/server/test/support/global-setup.ts'],
    sequence: { sequencer: FileOrder },
    projects: [
      project('quick', 0, [every('')], { exclude: [every('.alone'), every('.full'), every('.full-alone')] }),
      // Tests that block the event loop, or must not be stalled themselves, have the machine to themselves.
      project('alone', 1, [every('.alone')], { maxWorkers: 1 }),
      project('full', 2, [every('.full')], { env: { ...ENV, MILLRACE_TEST_CASES: '1' } }),
      project('properties', 3, propertyTests, { env: { ...ENV, MILLRACE_TEST_CASES: '4' } }),
      project('full-alone', 4, [every('.full-alone')], { maxWorkers: 1 }),
    ],
  },
});
