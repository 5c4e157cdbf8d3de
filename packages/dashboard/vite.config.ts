import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip as gzipWithCallback } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const brotli = promisify(brotliCompress);
const gzip = promisify(gzipWithCallback);

const COMPRESSIBLE = /\.(js|css|svg)$/;
/** A smaller file would not get smaller by enough to be worth a second copy. */
const WORTH_COMPRESSING_BYTES = 512;

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
  await writeFile(`${path}.gz`, await gzip(source, { level: 9 }));
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
