#!/usr/bin/env node
import { existsSync } from 'node:fs';

const program = new URL('../dist/main.js', import.meta.url);
if (!existsSync(program)) {
  console.error('millrace: this clone is not built yet; run `npm start -- --dev`, or `npm run build`');
  process.exit(1);
}
const { run } = await import(program.href);
await run();
