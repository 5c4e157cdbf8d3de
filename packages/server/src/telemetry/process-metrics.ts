import { readdir } from 'node:fs/promises';
import {
  monitorEventLoopDelay,
  PerformanceObserver,
  type IntervalHistogram,
  type PerformanceEntry,
} from 'node:perf_hooks';
import { Counter, Gauge, type Aggregator, type Registry } from 'prom-client';
import { Histogram, type HistogramSeries } from './histogram.js';

/**
 * The process's own metrics under their customary names, so that existing dashboards for Node work. The library cannot
 * stop collecting these; this class releases its observer and its timer.
 */

/** Coarse on purpose: at the usual 10 ms an idle server would wake a hundred times per second to watch itself. */
const LAG_RESOLUTION_MS = 50;

const GC_KINDS: Readonly<Record<number, string>> = { 1: 'minor', 2: 'incremental', 4: 'major', 8: 'weakcb' };

export class ProcessMetrics {
  readonly #lag: IntervalHistogram;
  readonly #gc: PerformanceObserver;

  constructor(registry: Registry) {
    registerMemory(registry);
    registerCpu(registry);
    registerDescriptors(registry);
    this.#lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
    this.#lag.enable();
    registerLag(registry, this.#lag);
    this.#gc = observeGarbageCollection(registry);
  }

  close(): void {
    this.#lag.disable();
    this.#gc.disconnect();
  }
}

function gauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number,
  aggregator: Aggregator = 'sum',
): void {
  new Gauge({
    name,
    help,
    aggregator,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

function registerMemory(registry: Registry): void {
  const { memoryUsage } = process;
  gauge(registry, 'process_resident_memory_bytes', 'Resident memory.', () => memoryUsage.rss());
  gauge(registry, 'nodejs_heap_size_total_bytes', 'Heap held by V8.', () => memoryUsage().heapTotal);
  gauge(registry, 'nodejs_heap_size_used_bytes', 'Heap in use.', () => memoryUsage().heapUsed);
  gauge(
    registry,
    'nodejs_external_memory_bytes',
    'Memory outside the heap, such as buffers.',
    () => memoryUsage().external,
  );
}

function registerCpu(registry: Registry): void {
  const startedAt = Date.now() / 1000 - process.uptime();
  gauge(
    registry,
    'process_start_time_seconds',
    'Start of the process, in seconds since the epoch.',
    () => startedAt,
    'min',
  );
  const cpu = (name: string, help: string, read: (usage: NodeJS.CpuUsage) => number): void => {
    let seen = 0;
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        const now = read(process.cpuUsage());
        this.inc((now - seen) / 1e6);
        seen = now;
      },
    });
  };
  cpu('process_cpu_user_seconds_total', 'CPU time in user mode.', ({ user }) => user);
  cpu('process_cpu_system_seconds_total', 'CPU time in the kernel.', ({ system }) => system);
  cpu('process_cpu_seconds_total', 'CPU time in total.', ({ user, system }) => user + system);
  const { version } = process;
  new Gauge({
    name: 'nodejs_version_info',
    help: 'Node version.',
    labelNames: ['version'],
    aggregator: 'first',
    registers: [registry],
  }).set({ version }, 1);
}

function registerDescriptors(registry: Registry): void {
  if (process.platform !== 'linux') return;
  new Gauge({
    name: 'process_open_fds',
    help: 'Open file descriptors.',
    registers: [registry],
    async collect() {
      this.set((await readdir('/proc/self/fd')).length);
    },
  });
}

/** Each scrape covers the time since the previous one. */
function registerLag(registry: Registry, lag: IntervalHistogram): void {
  gauge(
    registry,
    'millrace_event_loop_lag_seconds',
    'How late the event loop ran, 99th percentile since the previous scrape.',
    () => {
      const late = lag.percentile(99) / 1e9 - LAG_RESOLUTION_MS / 1e3;
      lag.reset();
      return Math.max(0, late);
    },
    'max',
  );
}

function observeGarbageCollection(registry: Registry): PerformanceObserver {
  const durations = new Histogram({
    name: 'nodejs_gc_duration_seconds',
    help: 'Garbage collection pauses, by kind.',
    labels: ['kind'],
    buckets: [0.001, 0.01, 0.1, 1, 2, 5],
    registry,
  });
  const series = new Map<number, HistogramSeries>();
  for (const [kind, name] of Object.entries(GC_KINDS)) series.set(Number(kind), durations.series(name));
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind } = (entry as PerformanceEntry & { detail: { kind: number } }).detail;
      series.get(kind)?.observe(entry.duration / 1000);
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  return observer;
}
