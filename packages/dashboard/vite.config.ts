import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const COMPRESSIBLE = /\.(js|css|svg|html)$/;
/** A smaller file would not get smaller by enough to be worth a second copy. */
const WORTH_COMPRESSING_BYTES = 512;

/** Writes `.br` and `.gz` beside each asset, so that the server never compresses anything while it serves. */
const precompressed = (): Plugin => ({
  name: 'precompressed',
  apply: 'build',
  enforce: 'post',
  generateBundle(_options, bundle) {
    for (const [fileName, output] of Object.entries(bundle)) {
      const source = Buffer.from(output.type === 'chunk' ? output.code : output.source);
      if (!COMPRESSIBLE.test(fileName) || source.length < WORTH_COMPRESSING_BYTES) continue;
      const options = { params: { [constants.BROTLI_PARAM_SIZE_HINT]: source.length } };
      this.emitFile({ type: 'asset', fileName: `${fileName}.br`, source: brotliCompressSync(source, options) });
      this.emitFile({ type: 'asset', fileName: `${fileName}.gz`, source: gzipSync(source, { level: 9 }) });
    }
  },
});

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
