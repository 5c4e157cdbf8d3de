import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip as gzipWithCallback } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const brotli = promisify(brotliCompress);
const gzip = promisify(gzipWithCallback);

const COMPRESSIBLE = /\.(js|css|svg)$/;
/** A smaller file would not get smaller by enough to be worth a second copy. */
const WORTH_COMPRESSING_BYTES = 256;

/**
 * Writes `.br` and `.gz` beside each asset, so that the server never compresses anything while it serves. From the
 * written files: the bundler still changes chunks after every other hook has seen them.
 */
const precompressed = (): Plugin => ({
  name: 'precompressed',
  apply: 'build',
  async writeBundle({ dir = '' }, bundle) {
    const names = Object.keys(bundle).filter((name) => name.startsWith('assets/') && COMPRESSIBLE.test(name));
    await Promise.all(names.map((name) => compress(join(dir, name))));
  },
});

async function compress(path: string): Promise<void> {
  const source = await readFile(path);
  if (source.length < WORTH_COMPRESSING_BYTES) return;
  const hint = { params: { [constants.BROTLI_PARAM_SIZE_HINT]: source.length } };
  await writeFile(`${path}.br`, await brotli(source, hint));
  await writeFile(`${path}.gz`, await gzip(source, { level: 9, memLevel: 9 }));
}

/** Rooms and files of `src`. */
const within = (id: string, paths: readonly string[]): boolean =>
  paths.some((path) => id.startsWith(join(import.meta.dirname, 'src', path)));

/** What every page needs: the libraries, the frame around the pages, and the components that most of them show. */
const BASE = ['shell/', 'session/', 'lib/', 'api/', 'components/'];
/** What pages about one thing show: its JSON, its attempts, its questions, its graph. */
const DETAIL = [
  ...['components/json/', 'components/waits/', 'components/attempt-list', 'lib/json/json', 'lib/json/job-text'],
  ...['lib/graph/', 'api/stream'],
];
/** Plots, and what stands beside them. */
const PLOTS = [
  ...['chart', 'frame', 'scale', 'series-', 'stacked', 'use-'].map((file) => `components/charts/${file}`),
  ...['components/attention/attention-', 'components/attention/needs-', 'components/pausing/'],
  ...['components/tables/queue-', 'components/tables/worker-', 'components/dialogs/bulk'],
];
/** Small pages that are opened one after the other, and what only some of them need. */
const TOGETHER: readonly (readonly [name: string, paths: readonly string[]])[] = [
  ['detail', DETAIL],
  ['plots', PLOTS],
  ['keys', ['shell/palette', 'shell/help']],
  // Two groups, by whether they show details or plots: with both, a page would be larger than it may be.
  [
    'lists',
    ['operations/', 'workflows/', 'waiting/', 'dead-letters/dead-letter-', 'dead-letters/dead-letter.'].map(
      (page) => `pages/${page}`,
    ),
  ],
  ['service', ['queues/', 'workers/', 'dead-letters/'].map((page) => `pages/${page}`)],
  ['operators', ['pages/admin/', 'pages/audit/']],
];

/**
 * A few files rather than one for each component: small files compress badly and each is a request. Everything is 10 kB
 * smaller with them.
 */
function chunkOf(id: string): string | undefined {
  const found = TOGETHER.find(([, paths]) => within(id, paths));
  if (found !== undefined) return found[0];
  return id.includes('node_modules') || id.includes('preload-helper') || within(id, BASE) ? 'base' : undefined;
}

export default defineConfig({
  root: import.meta.dirname,
  // Every address in the built files is relative: the dashboard works under whatever prefix a proxy gives it.
  base: './',
  esbuild: { jsx: 'automatic' },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      output: { manualChunks: chunkOf },
      onwarn: (warning, warn) => {
        // The libraries mark their files for servers that render; there is none here.
        if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') warn(warning);
      },
    },
  },
  plugins: [precompressed()],
  // `npx vite packages/dashboard` while developing: the API of a server on its usual port.
  server: { proxy: { '/api': 'http://127.0.0.1:8080' } },
});
