import { Registry } from 'prom-client';
import { Relay, type RelayOptions } from '../relay/relay.js';
import { startMetricsServer } from '../telemetry/metrics-server.js';
import { ProcessMetrics } from '../telemetry/process-metrics.js';
import { RelayMetrics } from '../telemetry/relay-metrics.js';
import { VERSION } from '../version.js';
import { listenUrl } from './listen-url.js';

/** A relay as a process of its own: with a port for metrics and probes. */
export interface RelayProcessOptions extends Omit<RelayOptions, 'events'> {
  readonly host: string;
  readonly metricsPort: number;
}

export interface RunningRelay {
  readonly metricsUrl: string;
  /** Resolves when the relay has ended: null if it was stopped, otherwise why it could not go on. */
  ended(): Promise<Error | null>;
  /** Ends it with the calls that are in flight. */
  stop(): Promise<void>;
}

/** A relay that counts what it does in `registry`. */
export function createRelay(registry: Registry, options: Omit<RelayOptions, 'events'>): Relay {
  const metrics: RelayMetrics = new RelayMetrics(registry, { gauge: () => relay.gauge(), isUp: () => relay.ready });
  const relay: Relay = new Relay({
    ...options,
    events: { relayed: (entries) => metrics.relayed.inc(entries), refused: () => metrics.refusals.inc() },
  });
  return relay;
}

/**
 * Moves what the application at `from` puts into its outbox to the service, until it is stopped. While that database is
 * out of reach it waits, at the start as well.
 *
 * @throws OutboxError if there is no outbox, or the role may not use it
 */
export async function startRelay(options: RelayProcessOptions): Promise<RunningRelay> {
  const registry = new Registry();
  const process = new ProcessMetrics(registry);
  try {
    const relay = createRelay(registry, options);
    await relay.start();
    const page = { contentType: registry.contentType, text: () => registry.metrics() };
    const probes = { health: () => ({ version: VERSION }), ready: () => Promise.resolve(relay.ready) };
    const { host, metricsPort: port } = options;
    const server = await startMetricsServer(page, probes, { host, port }).catch(async (error: unknown) => {
      await relay.stop();
      throw error;
    });
    return {
      metricsUrl: listenUrl(host, server.port),
      ended: () => relay.ended(),
      stop: async () => {
        await relay.stop();
        await server.stop();
        process.close();
      },
    };
  } catch (error) {
    process.close();
    throw error;
  }
}
