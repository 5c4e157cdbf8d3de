import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { chromium, type APIResponse, type Browser, type BrowserContext, type Page, type Route } from 'playwright-core';
import { PATIENCE_MS } from '@millrace/tools-shared';
import { afterAll, expect } from 'vitest';
import {
  KEY_A,
  startTestServer,
  type TestServer,
  type TestServerOptions,
} from '../../../server/test/support/server.js';

/** A browser of this machine. None is downloaded: `npm test` installs one where it may. */
const CANDIDATES = [
  process.env.MILLRACE_BROWSER ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return path !== '';
  } catch {
    return false;
  }
};

const program = CANDIDATES.find(isProgram);

/** Tests with a browser run where there is one; `npm test` says loudly where there is none. */
export const hasBrowser = program !== undefined;

export const DIST = fileURLToPath(new URL('../../dist', import.meta.url));

export interface Visit {
  /** Null: nobody is signed in. */
  readonly token?: string | null;
  readonly width?: number;
  readonly theme?: 'light' | 'dark';
  /** Whose dashboard; the shared server's if absent. */
  readonly url?: string;
  /** In a browser of its own, as if never used before. */
  readonly alone?: boolean;
  /** Console messages that the test is about: a refused sign-in is one. */
  readonly expected?: RegExp;
}

/** One server and one browser for all tests of a file. */
export interface Stage {
  readonly server: TestServer;
  /** Opens a path of the dashboard in a new window. Every message on its console fails the test that calls `quiet`. */
  visit(path: string, visit?: Visit): Promise<Page>;
  /** Closes all windows, and fails if a console had a message, a script an error, or a request went to another host. */
  quiet(): Promise<void>;
}

export async function useStage(options: TestServerOptions = {}): Promise<Stage> {
  if (!existsSync(`${DIST}/index.html`)) throw new Error('the dashboard is not built: npm run build');
  const server = await startTestServer(options);
  const browser = await launch();
  afterAll(async () => {
    // First the browser: the server checks that nothing is left open.
    await browser.close();
    await server.stop();
  });
  // Windows share what they have fetched and compiled; a visit that changes what is kept in the browser comes alone.
  const shared = new Map<string, BrowserContext>();
  let pages: Page[] = [];
  const trouble: string[] = [];
  const contextFor = async (width: number, theme: 'light' | 'dark', alone: boolean): Promise<BrowserContext> => {
    const key = `${width} ${theme}`;
    const found = alone ? undefined : shared.get(key);
    if (found !== undefined) return found;
    const viewport = { width, height: 900 };
    const context = await browser.newContext({ viewport, colorScheme: theme, timezoneId: 'UTC' });
    context.setDefaultTimeout(PATIENCE_MS);
    if (!alone) {
      shared.set(key, context);
      // An empty page that stays. Without it the window closes with a test's last page, and opening another takes as
      // much work as the page in it.
      await context.newPage();
    }
    return context;
  };
  return {
    server,
    visit: async (path, visit = {}) => {
      const { token = KEY_A, width = 1280, theme = 'light', url = server.url, expected, alone = false } = visit;
      const context = await contextFor(width, theme, alone);
      const page = await context.newPage();
      pages.push(page);
      if (token !== null) await page.addInitScript(signInScript, token);
      watch(page, new URL(url).origin, expected, trouble);
      await page.goto(`${url}/ui${path}`);
      return page;
    },
    quiet: async () => {
      await Promise.all(pages.map((page) => page.close()));
      pages = [];
      expect(trouble.splice(0)).toEqual([]);
    },
  };
}

/** Pages of one context share a process, with what it has compiled. They keep their own documents and storage. */
const FLAGS = ['--no-sandbox', '--disable-dev-shm-usage', '--process-per-site'];

const launch = (): Promise<Browser> => chromium.launch({ executablePath: program ?? '', args: FLAGS });

/** Runs in the page, before its scripts; once per tab, so that signing out lasts. */
function signInScript(token: string): void {
  if (sessionStorage.getItem('test.signed-in') !== null) return;
  sessionStorage.setItem('test.signed-in', 'yes');
  sessionStorage.setItem('millrace.token', token);
}

function watch(page: Page, origin: string, expected: RegExp | undefined, trouble: string[]): void {
  page.on('console', (message) => {
    const text = `${message.type()}: ${message.text()} ${message.location().url}`;
    if (expected?.test(text) !== true) trouble.push(text);
  });
  page.on('pageerror', (error) => trouble.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) trouble.push(`another host: ${request.url()}`);
  });
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** What axe-core finds on the page that is serious or critical, in the light theme and in the dark one. */
export async function seriousFindings(page: Page): Promise<string[]> {
  // Evaluated, not added as a script: the content policy stays in force.
  await page.evaluate(axe);
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await runAxe(page, {});
  // The theme changes colours and nothing else.
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await runAxe(page, { runOnly: ['color-contrast'] });
  return [...light, ...dark]
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`));
}

async function runAxe(page: Page, options: object): Promise<readonly Finding[]> {
  const { violations } = await page.evaluate(
    async (chosen) => {
      interface Axe {
        run: (options: object) => Promise<{ violations: Finding[] }>;
      }
      return (globalThis as unknown as { axe: Axe }).axe.run(chosen);
      // Every rule still looks at every element; only what passed is not described.
    },
    { ...options, resultTypes: ['violations'] },
  );
  return violations;
}

/** The whole answer, though the page may have had one before and asks only for what has changed. */
export function fetchWhole(route: Route): Promise<APIResponse> {
  const { 'if-none-match': _, ...headers } = route.request().headers();
  return route.fetch({ headers });
}
