import { randomInt } from 'node:crypto';
import { runMain, say } from '@millrace/tools-shared';
import { Api } from './api.js';
import { parseOptions, type Options } from './options.js';
import { play } from './run.js';
import { startService, type Service } from './service.js';
import type { Tenant } from './traffic.js';

/** Shares of all jobs: one busy tenant, and others that the operator's view shows beside it. */
const DEV_SHARE = 6;
const OTHER_SHARES = [3, 2, 1];

async function main(): Promise<number> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const options = parseOptions(process.argv.slice(2), randomInt(2 ** 32));
  const service = options.url === null ? await startService(options.port, say) : null;
  try {
    const url = service?.devUrl ?? options.url ?? '';
    const tenants = [
      { name: 'tenant1', api: new Api(url, options.token, stop.signal), share: DEV_SHARE },
      ...others(service, stop.signal),
    ];
    announce(options, url, service);
    const workers = new Api(url, options.workerToken, stop.signal);
    await play({ ...options, tenants, workers, signal: stop.signal, say });
  } finally {
    await service?.stop();
  }
  return 0;
}

const others = (service: Service | null, signal: AbortSignal): Tenant[] =>
  [...(service?.tenants?.keys ?? [])].map(([name, key], index) => ({
    name,
    api: new Api(service?.tenants?.url ?? '', key, signal),
    share: OTHER_SHARES[index] ?? 1,
  }));

function announce({ seed, rate }: Options, url: string, service: Service | null): void {
  say(`seed ${seed}, ${rate} jobs per minute`);
  say(`dashboard: ${url}/ui/`);
  if (service?.tenants === null || service === null) return;
  const { url: other, keys, adminToken } = service.tenants;
  for (const [name, key] of keys) say(`  as ${name}: ${other}/ui/ with the key ${key}`);
  say(`  as the operator: ${other}/ui/ with the token ${adminToken}`);
}

process.exitCode = await runMain(main);
