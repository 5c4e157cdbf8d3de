import type { BrowserContext, Page } from 'playwright-core';

/** What is on the screen when a page has its content: so many elements, and nothing that is still loading. */
export interface Content {
  readonly selector: string;
  readonly least?: number;
}

const WITHIN_MS = 60_000;

/**
 * Milliseconds from a click until the content has been painted, taken inside the page: nothing of the tool is in it.
 * The link was not hovered over before, so the code of the page is fetched within that time too.
 */
export function clickToContent(page: Page, link: string, { selector, least = 1 }: Content): Promise<number> {
  return page.evaluate(
    async ([clicked, awaited, count, limit]) => {
      const target = document.querySelector<HTMLElement>(clicked);
      if (target === null) throw new Error(`there is nothing to click: ${clicked}`);
      const isThere = (): boolean =>
        document.querySelectorAll(awaited).length >= count &&
        document.querySelector('main .skeleton, main .dimmed') === null;
      const began = performance.now();
      target.click();
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`${awaited} did not appear`)), limit);
        const look = (): void => {
          if (!isThere()) return;
          observer.disconnect();
          clearTimeout(timer);
          resolve();
        };
        const observer = new MutationObserver(look);
        observer.observe(document, { subtree: true, childList: true, attributes: true });
        look();
      });
      // The frame that shows it, and then some: a timer set in a frame runs after it was painted.
      await new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      return performance.now() - began;
    },
    [link, selector, least, WITHIN_MS] as const,
  );
}

/** Milliseconds from the beginning of the navigation until the content was first painted, in a fresh browser. */
export async function firstPaint(
  context: BrowserContext,
  url: string,
  token: string,
  selector: string,
): Promise<number> {
  const page = await context.newPage();
  await page.addInitScript(
    ([secret, awaited]) => {
      sessionStorage.setItem('millrace.token', secret);
      const observer = new MutationObserver(() => {
        if (document.querySelector(awaited) === null) return;
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => Object.assign(globalThis, { painted: performance.now() })));
      });
      observer.observe(document, { subtree: true, childList: true });
    },
    [token, selector] as const,
  );
  await page.goto(url);
  const painted = await page.waitForFunction(() => (globalThis as { painted?: number }).painted);
  const ms = (await painted.jsonValue()) ?? Number.NaN;
  await page.close();
  return ms;
}

/** The bytes that live objects take up, after everything else has been collected. */
export async function heapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  try {
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    return usedSize;
  } finally {
    await session.detach();
  }
}
