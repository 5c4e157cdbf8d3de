import { randomBytes, randomUUID } from 'node:crypto';
import { startProxy, type Proxy } from '../proxy/proxy.js';
import type { BeaconReceiver, BeaconAddress } from './beacons.js';
import type { Service } from './service.js';
import { Subject } from './subject.js';
import { startWorkerProcess, type WorkerProcess } from './worker-process.js';

/** What all scenarios of a run share. */
export interface Setting {
  readonly command: readonly string[];
  readonly serverUrl: string;
  readonly service: Service;
  readonly beacons: BeaconReceiver;
  /** C: how many jobs the worker is told to run at a time. */
  readonly concurrency: number;
  /** L in seconds. */
  readonly leaseSecs: number;
  /** Whether the worker meets a server that knows only the plain protocol. */
  readonly plain: boolean;
}

export interface StartOptions {
  /** S; three leases if omitted. */
  readonly shutdownSecs?: number;
  /** Another way to the server, if several workers must be told apart. */
  readonly through?: Proxy;
}

/** What must not appear in the output of a worker, and that output. */
export interface Evidence {
  readonly output: string;
  readonly secrets: readonly string[];
}

/** One scenario's own queue, proxy and workers. */
export class Stage {
  readonly proxy: Proxy;
  readonly concurrency: number;
  readonly leaseSecs: number;
  /** Whether the worker meets a server that knows only the plain protocol. */
  readonly plain: boolean;
  readonly #setting: Setting;
  readonly #proxies: Proxy[];
  readonly #workers: WorkerProcess[] = [];
  readonly #token = `worker-token-${randomBytes(12).toString('hex')}`;
  queue = `conformance-${randomUUID()}`;

  static async open(setting: Setting): Promise<Stage> {
    return new Stage(setting, await startProxy(setting.serverUrl, setting));
  }

  private constructor(setting: Setting, proxy: Proxy) {
    this.#setting = setting;
    this.proxy = proxy;
    this.#proxies = [proxy];
    this.concurrency = setting.concurrency;
    this.leaseSecs = setting.leaseSecs;
    this.plain = setting.plain;
  }

  get leaseMs(): number {
    return this.leaseSecs * 1000;
  }

  get service(): Service {
    return this.#setting.service;
  }

  startWorker({ shutdownSecs = 3 * this.leaseSecs, through = this.proxy }: StartOptions = {}): WorkerProcess {
    const worker = startWorkerProcess(this.#setting.command, {
      MILLRACE_URL: through.url,
      MILLRACE_WORKER_TOKEN: this.#token,
      MILLRACE_QUEUE: this.queue,
      MILLRACE_CONCURRENCY: String(this.concurrency),
      MILLRACE_LEASE_SECS: String(this.leaseSecs),
      MILLRACE_SHUTDOWN_SECS: String(shutdownSecs),
    });
    this.#workers.push(worker);
    return worker;
  }

  /** A second way to the server, with records of its own. */
  async anotherProxy(): Promise<Proxy> {
    const proxy = await startProxy(this.#setting.serverUrl, this.#setting);
    this.#proxies.push(proxy);
    return proxy;
  }

  /** Creates a job on this stage's queue. Retries, if it has any, come without delay. */
  async create(task: string, payload: object = {}, config: object = {}): Promise<Subject> {
    const address = this.#setting.beacons.address();
    const id = await this.service.createJob(this.#body(task, payload, config, address));
    return new Subject(id, address, this.service, this.proxy);
  }

  /** Creates several jobs at the same instant. */
  async createMany(count: number, task: string, payload: object = {}, config: object = {}): Promise<Subject[]> {
    const addresses = Array.from({ length: count }, () => this.#setting.beacons.address());
    const ids = await this.service.createJobs(addresses.map((address) => this.#body(task, payload, config, address)));
    return addresses.map((address, index) => new Subject(ids[index] ?? '', address, this.service, this.proxy));
  }

  /** A job whose payload is exactly this text; it posts no beacons. */
  async createText(task: string, payload: string): Promise<Subject> {
    const body = `{"task_name":"${task}","payload":${payload},"config":${JSON.stringify({ queue: this.queue })}}`;
    return this.adopt(await this.service.createJob(body));
  }

  /** A job that was created some other way; it posts no beacons. */
  adopt(id: string): Subject {
    return new Subject(id, { url: '', seen: [] }, this.service, this.proxy);
  }

  evidence(): Evidence {
    const tokens = this.#proxies.flatMap((proxy) => proxy.leased().map(({ token }) => token));
    return { output: this.#workers.map((worker) => worker.output()).join('\n'), secrets: [this.#token, ...tokens] };
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.kill()));
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
  }

  #body(task: string, payload: object, config: object, address: BeaconAddress): string {
    return JSON.stringify({
      task_name: task,
      payload: { ...payload, beacon: address.url },
      config: { queue: this.queue, max_retries: 3, retry_delay_secs: 0, jitter_factor: 0, ...config },
    });
  }
}
