import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { Tracer } from '../../src/telemetry/tracing.js';

it('a stop tries a collector that refuses once, drops the rest and counts all of it', async () => {
  let requests = 0;
  const collector = createServer((_request, response) => {
    requests++;
    response.writeHead(500).end();
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void collector.close());
  let dropped = 0;
  const tracer = new Tracer({
    endpoint: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    version: '1',
    logger: pino({ level: 'silent' }),
    onDropped: (spans) => (dropped += spans),
  });
  const parent = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: 'b7ad6b7169203331', sampled: true, state: '' };
  const spans = 2_000;
  for (let n = 0; n < spans; n++) tracer.begin(parent).end({ name: 'n', kind: 'server', attributes: {} });
  await tracer.stop();
  // The first request was on its way when the stop began.
  expect(requests).toBe(2);
  expect(dropped).toBe(spans);
});
