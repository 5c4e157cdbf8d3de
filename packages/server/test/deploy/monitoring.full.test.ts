import { spawnSync } from 'node:child_process';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readRepositoryFile, repositoryFile } from '../docs/generated.js';
import { createJob, waitFor } from '../engine/kit.js';
import { useApplicationDatabase } from '../relay/kit.js';
import { cloneCells } from '../support/cells.js';
import { KEY_A, useTestServer } from '../support/server.js';
import { namesIn, unknownNames } from './metric-names.js';
import { programOr } from './tools.js';

const promtool = programOr(
  'promtool',
  '`promtool check config` and `test rules`; a parser has checked the expressions',
);
const application = await useApplicationDatabase();
const server = await useTestServer({ config: { outbox: application.url, outboxToken: KEY_A } });
// Some series appear with their first event.
await waitFor(server.a, await createJob(server.a, 'default', { task_name: 'echo' }), 'completed');
await createJob(server.a, 'waiting', { task_name: 'nobody' });
// And some are those of several databases.
const onCells = await cloneCells(2);
afterAll(() => onCells.drop());
const over = await useTestServer({ database: onCells, config: { mode: 'api' } });
const pages = await Promise.all(
  [server, over].map(async ({ metricsUrl }) => (await fetch(`${metricsUrl}/metrics`)).text()),
);
const page = pages.join('');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook: string };
}

const { groups } = parse(readRepositoryFile('deploy/prometheus/alerts.yml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

describe('the alert rules', () => {
  it.each(rules.map((rule) => [rule.alert, rule] as const))('%s asks for metrics that a server has', (_, { expr }) => {
    expect(namesIn(expr).metrics).not.toEqual([]);
    expect(unknownNames(expr, page)).toEqual([]);
  });

  it.each(rules.map((rule) => [rule.alert, rule] as const))('%s leads to a page of the runbook', (_, rule) => {
    const [path = '', anchor = ''] = rule.annotations.runbook.split('#');
    const headings = [...readRepositoryFile(path).matchAll(/^#+ (.*)$/gm)].map(([, text]) =>
      text!.toLowerCase().replaceAll(' ', '-').replaceAll(',', ''),
    );
    expect(headings).toContain(anchor);
    expect(['page', 'ticket']).toContain(rule.labels.severity);
  });

  it('are each tried by the tests of the rules, firing and silent', () => {
    const tests = readRepositoryFile('deploy/prometheus/alerts.test.yml');
    for (const { alert } of rules) {
      expect(tests).toMatch(new RegExp(`alertname: ${alert}, exp_alerts: \\[\\]`));
      expect(tests).toContain(`alertname="${alert}"`);
    }
  });

  it.runIf(promtool)('pass their tests', () => {
    const cwd = repositoryFile('deploy/prometheus');
    for (const args of [
      ['check', 'config', 'prometheus.yml'],
      ['test', 'rules', 'alerts.test.yml'],
    ]) {
      const { status, stdout, stderr } = spawnSync(promtool!, args, { cwd, encoding: 'utf8' });
      expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' });
    }
  });
});

describe('the adapter', () => {
  it('asks for a metric that a server has', () => {
    const { rules: adapter } = parse(readRepositoryFile('deploy/prometheus/adapter-rules.yaml'));
    const [{ seriesQuery, metricsQuery }] = adapter.external;
    expect(unknownNames(seriesQuery as string, page)).toEqual([]);
    expect(unknownNames((metricsQuery as string).replace('<<.LabelMatchers>>', 'queue="q"'), page)).toEqual([]);
  });
});

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
}

describe('the dashboard of Grafana', () => {
  const { panels } = JSON.parse(readRepositoryFile('deploy/grafana/millrace.json')) as { panels: Panel[] };
  const charts = panels.filter(({ targets }) => targets !== undefined);

  it.each(charts.map((panel) => [panel.title, panel] as const))('"%s" shows what a server has', (_, { targets }) => {
    for (const { expr, legendFormat } of targets!) {
      expect(unknownNames(expr, page)).toEqual([]);
      const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!);
      const kept = [...namesIn(expr).labels, ...(/^(sum|max|topk|histogram)/.test(expr) ? [] : ['instance'])];
      expect(shown.filter((label) => !kept.includes(label))).toEqual([]);
    }
  });

  it('gives every panel its own place', () => {
    expect(charts.length).toBeGreaterThan(15);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, place) => `${x + (place % w)} ${y + Math.floor(place / w)}`),
    );
    expect(new Set(taken).size).toBe(taken.length);
  });
});

it('an unknown name is noticed', () => {
  expect(unknownNames('sum by (tenant) (rate(millrace_jobs_made_total[5m]))', page)).toEqual([
    'millrace_jobs_made_total',
    'tenant',
  ]);
  expect(() => namesIn('sum(rate(millrace_jobs_created_total[5m])')).toThrow('not PromQL');
});
