import type { Ready } from '@millrace/contract';
import type { Config } from '../config/config.js';
import { hostCheck } from '../config/host-check.js';
import { listenUrl } from './listen-url.js';
import { FleetMetrics, type FleetMember } from '../telemetry/fleet-metrics.js';
import { startMetricsServer } from '../telemetry/metrics-server.js';
import { VERSION } from '../version.js';

/** The processes behind one pair of ports, as their parent knows them. */
export interface Fleet {
  /** Those that run now. */
  members(): readonly FleetMember[];
  /** Whether requests can be served: at least one of them is ready, and nobody has asked them to stop. */
  ready(): Promise<boolean>;
  /** Of a service on several databases: which of them all of these processes can reach. */
  cells(): Promise<Ready['cells']>;
}

export interface FleetMetricsServer {
  readonly metrics: FleetMetrics;
  readonly metricsUrl: string;
  stop(): Promise<void>;
}

/** The metrics port of the parent: one page for all processes, and the probes. */
export async function startFleetMetrics(config: Config, fleet: Fleet): Promise<FleetMetricsServer> {
  const metrics = new FleetMetrics(() => fleet.members());
  const probes = { health: () => ({ version: VERSION }), ready: () => fleet.ready(), cells: () => fleet.cells() };
  const { host, metricsPort: port } = config;
  const server = await startMetricsServer(metrics, probes, { host, port, checkHost: hostCheck(config) });
  return { metrics, metricsUrl: listenUrl(host, server.port), stop: server.stop };
}
