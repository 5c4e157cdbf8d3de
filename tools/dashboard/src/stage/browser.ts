import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';

export interface Visit {
  /** Null: nobody is signed in. */
  readonly token: string | null;
  /** Whose dashboard, without the /ui. */
  readonly url: string;
  /** In the same browser as before: nothing has to be fetched again. */
  readonly context?: BrowserContext;
}

/** Windows of one browser; every message on a console that no case expects is kept. */
export class Windows {
  readonly #trouble: string[] = [];

  private constructor(private readonly browser: Browser) {}

  static async open(program: string): Promise<Windows> {
    return new Windows(
      await chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-dev-shm-usage'] }),
    );
  }

  get version(): string {
    return this.browser.version();
  }

  /** A browser that has never been used. */
  async fresh(): Promise<BrowserContext> {
    const context = await this.browser.newContext({
      viewport: { width: 1280, height: 900 },
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    context.setDefaultTimeout(120_000);
    return context;
  }

  /** Opens a path of the dashboard. Messages on its console count as trouble unless they are `expected`. */
  async visit(path: string, { token, url, context }: Visit, expected?: RegExp): Promise<Page> {
    const page = await (context ?? (await this.fresh())).newPage();
    page.on('console', (message) => {
      if (expected?.test(message.text()) !== true) this.#trouble.push(`${path}: ${message.text()}`);
    });
    page.on('pageerror', (error) => this.#trouble.push(`${path}: ${error.message}`));
    if (token !== null) await page.addInitScript((secret) => sessionStorage.setItem('millrace.token', secret), token);
    await page.goto(`${url}/ui${path}`);
    return page;
  }

  /** What consoles have said since the last time. */
  trouble = (): string[] => this.#trouble.splice(0);

  close = (): Promise<void> => this.browser.close();
}
