import { accessSync, constants, existsSync } from 'node:fs';
import { run } from './tools.mjs';

/** Where Chromium or Chrome usually is; MILLRACE_BROWSER names another place. */
const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/** The browser for the tests of the dashboard: installed where that is allowed (Debian, as root); else null. */
export async function findBrowser() {
  const found = place();
  if (found !== null || process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return found;
  console.error('installing Chromium for the tests of the dashboard, and zsh for those of the documents (apt-get) ...');
  try {
    await run('apt-get', ['update', '-qq']);
    await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium', 'zsh']);
  } catch {
    // No apt-get, or no network: the tests say that they did not run.
  }
  return place();
}

function place() {
  const places = [process.env.MILLRACE_BROWSER, ...PLACES].filter((path) => path !== undefined && path !== '');
  return places.find(isProgram) ?? null;
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
