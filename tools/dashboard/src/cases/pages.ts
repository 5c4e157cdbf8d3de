import { tookAbout, type Case, type Stage } from '../case.js';
import { clickToContent, firstPaint, type Content } from '../measure.js';
import { ADMIN_TOKEN, TENANT_KEY } from '../stage/service.js';

const PAINT_MS = 1000;
const PAGE_MS = 300;

const menu = (title: string): string => `nav.menu a[href$="${title}"]`;
const rowsOf = (label: string): Content => ({ selector: `table[aria-label="${label}"] [data-row]` });

/** A walk through all pages, each reached by a click on the one before it. */
const WALK: readonly (readonly [page: string, link: string, content: Content])[] = [
  ['Jobs', menu('/jobs'), { ...rowsOf('Jobs'), least: 50 }],
  ['Jobs, the next page', '.pager button:last-child', { ...rowsOf('Jobs'), least: 50 }],
  ['Job', 'table[aria-label="Jobs"] [data-row] a[href*="/jobs/"]', { selector: '[aria-label="Payload"]' }],
  ['Workflows', menu('/workflows'), { ...rowsOf('Workflows'), least: 50 }],
  ['Workflow', 'table[aria-label="Workflows"] [data-row] a', { selector: '.node', least: 3 }],
  ['Dead letters, by group', menu('/dead-letters'), rowsOf('Groups of dead letters')],
  ['Dead letters of a group', 'table[aria-label^="Groups"] [data-row] a', rowsOf('Dead letters')],
  ['Dead letter', 'table[aria-label="Dead letters"] [data-row] a', { selector: '.error-text' }],
  ['Waiting for you', menu('/waiting'), { selector: 'main h1' }],
  ['Cron', menu('/cron'), { ...rowsOf('Schedules'), least: 3 }],
  ['Queues', menu('/queues'), { ...rowsOf('Queues'), least: 4 }],
  ['Queue', 'table[aria-label="Queues"] [data-row] a', rowsOf('Next jobs')],
  ['Workers', menu('/workers'), rowsOf('Workers')],
  ['Operations', menu('/operations'), { selector: 'main h1' }],
  ['Overview', menu('/'), { selector: 'main .tiles li, main figure.chart path', least: 10 }],
  ['Jobs that failed', '.tiles a[href*="status=failed"]', { ...rowsOf('Jobs'), least: 50 }],
];

/** How fast each page is there, on a service with a million jobs. */
export const pages: Case = {
  name: 'pages',
  title: 'Pages',
  run: async (stage) => {
    const paint: number[] = [];
    const signIn: number[] = [];
    const times = new Map<string, number[]>();
    const add = (page: string, ms: number): void => void times.set(page, [...(times.get(page) ?? []), ms]);
    for (let round = 0; round < stage.options.rounds; round++) {
      const context = await stage.windows.fresh();
      const attention = '.attention';
      paint.push(await firstPaint(context, `${stage.service.url}/ui/`, TENANT_KEY, attention));
      await context.close();
      await walk(stage, add);
      signIn.push(await fromSignIn(stage));
      add('All tenants', await allTenants(stage));
    }
    return [
      tookAbout('First useful paint of the overview, fresh browser', paint, PAINT_MS),
      tookAbout('All tenants, from the sign-in', signIn, PAINT_MS),
      ...[...times].map(([page, values]) => tookAbout(page, values, PAGE_MS)),
    ];
  },
};

async function walk(stage: Stage, add: (page: string, ms: number) => void): Promise<void> {
  const page = await stage.visit('/');
  await page.locator('main figure.chart').first().waitFor();
  for (const [title, link, content] of WALK) {
    await page.locator(link).first().waitFor();
    add(title, await clickToContent(page, link, content));
  }
  await page.context().close();
}

/** From the page that operators have beside it. */
async function allTenants({ windows, service }: Stage): Promise<number> {
  const page = await windows.visit('/audit', { token: ADMIN_TOKEN, url: service.url });
  const link = menu('/admin');
  await page.locator(link).first().waitFor();
  await page.waitForLoadState('networkidle');
  const ms = await clickToContent(page, link, rowsOf('Tenants'));
  await page.context().close();
  return ms;
}

/** Everything that is drawn before the first page is, too. */
async function fromSignIn({ windows, service }: Stage): Promise<number> {
  const page = await windows.visit('/admin', { token: null, url: service.url });
  await page.getByLabel('API key or JWT').fill(ADMIN_TOKEN);
  // The form is there before the browser has come to rest; nobody types a token in that time.
  await page.waitForLoadState('networkidle');
  const ms = await clickToContent(page, 'form button[type=submit]', rowsOf('Tenants'));
  await page.context().close();
  return ms;
}
