import { findBrowser } from './lib/browser.mjs';
import { runBuilt } from './lib/setup.mjs';

/** Drives the dashboard through everything that is too large for `npm test` (docs/dashboard.md). */
const browser = await findBrowser();
if (browser === null) {
  console.error('there is no Chromium or Chrome here; MILLRACE_BROWSER names one in another place');
  process.exit(1);
}
process.env.MILLRACE_BROWSER = browser;
process.exit(await runBuilt('tools/dashboard', process.argv.slice(2)));
