import { expect, it, onTestFinished } from 'vitest';
import { Metrics } from '../../src/telemetry/metrics.js';
import { RelayMetrics } from '../../src/telemetry/relay-metrics.js';
import { readRepositoryFile } from './generated.js';

/** Only Linux can tell a process how many descriptors it has open. */
const LINUX_ONLY = 'process_open_fds';

it('docs/operations.md names every metric and no other', async () => {
  const metrics = new Metrics();
  new RelayMetrics(metrics.registry, {
    gauge: () => Promise.reject(new Error('there is no outbox')),
    isUp: () => false,
  });
  onTestFinished(() => metrics.close());
  const registered = new Set((await metrics.registry.getMetricsAsJSON()).map(({ name }) => name)).add(LINUX_ONLY);
  const [, section = ''] = /^## Metrics\n([^]*?)^## /m.exec(readRepositoryFile('docs/operations.md')) ?? [];
  const documented = new Set(section.match(/(?<=`)(millrace|process|nodejs)_\w+(?=`)/g));
  expect([...documented].sort()).toEqual([...registered].sort());
});
