import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitOnSignals, onExit, runMain, say } from '@millrace/tools-shared';
import type { Finding, Stage } from './case.js';
import { CASES } from './cases/index.js';
import { fill } from './fill.js';
import { parseOptions, type Options } from './options.js';
import { asMarkdown, lasted, loadNow, publish, type Section } from './report.js';
import { Windows } from './stage/browser.js';
import { startCluster } from './stage/cluster.js';
import { Client, OTHER_KEY, Service, TENANT_KEY, workerOf } from './stage/service.js';

async function main(): Promise<number> {
  exitOnSignals();
  const options = parseOptions(
    process.argv.slice(2),
    CASES.map(({ name }) => name),
  );
  const [began, loadBefore] = [new Date(), loadNow()];
  const dir = mkdtempSync(join(tmpdir(), 'millrace-dashboard-'));
  onExit(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  const stage = await setUp(options, dir);
  try {
    await fill(stage);
    const sections = await runCases(stage);
    const run = { browser: `Chromium ${stage.windows.version}`, began, ended: new Date(), loadBefore };
    const text = asMarkdown(sections, options, run);
    process.stdout.write(`${text}\n`);
    say(`took ${lasted(run.began, run.ended)}`);
    if (options.publish) publish(text);
    return sections.every(({ findings }) => findings.every(({ ok }) => ok)) ? 0 : 1;
  } finally {
    await stage.windows.close();
    await stage.service.stop();
    await stage.cluster.stop();
  }
}

async function setUp(options: Options, dir: string): Promise<Stage> {
  const cluster = await startCluster(dir);
  const service = new Service(cluster.url);
  await service.start();
  const windows = await Windows.open(process.env.MILLRACE_BROWSER ?? '/usr/bin/chromium');
  const url = (): string => service.url;
  return {
    options,
    cluster,
    service,
    windows,
    say,
    tenant: new Client(url, TENANT_KEY),
    other: new Client(url, OTHER_KEY),
    worker: workerOf(url),
    visit: (path, { url: via, expected } = {}) =>
      windows.visit(path, { token: TENANT_KEY, url: via ?? service.url }, expected),
  };
}

async function runCases(stage: Stage): Promise<Section[]> {
  const { only } = stage.options;
  const sections: Section[] = [];
  for (const { title, run } of CASES.filter((each) => only.length === 0 || only.includes(each.name))) {
    say(`\n> ${title}`);
    const began = new Date();
    const findings = await run(stage).catch((error: unknown) => [failure(error)]);
    const trouble = stage.windows.trouble().map((what) => ({ what, result: 'on the console', aim: 'none', ok: false }));
    for (const { what, result, ok } of [...findings, ...trouble]) say(`${ok ? 'ok  ' : 'MISS'}  ${what}: ${result}`);
    say(`took ${lasted(began, new Date())}`);
    if (findings.length + trouble.length > 0) sections.push({ title, findings: [...findings, ...trouble] });
  }
  return sections;
}

/** A case that came to no end is a line of the results; the others still run. */
const failure = (error: unknown): Finding => ({
  what: 'The case ran to its end',
  result: (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '',
  aim: 'yes',
  ok: false,
});

process.exitCode = await runMain(main);
