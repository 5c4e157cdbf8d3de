import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { noteAnswer, readCall, type Call, type Item, type ItemKind, type LeasedJob } from './calls.js';
import { moveInstants } from './clock.js';
import { perform } from './perform.js';
import type { Action, Rule } from './rules.js';
import { passOn, readAll } from './upstream.js';

/** Stands between a worker and the server: records every call, and breaks those that a rule picks. */
export interface Proxy {
  readonly url: string;
  readonly calls: readonly Call[];
  addRule(rule: Rule): void;
  /** From now on every call passes. Calls that were ignored stay without an answer. */
  clearRules(): void;
  /** Makes the server's clock look so much faster or, if negative, slower than it is. */
  moveClock(ms: number): void;
  leases(): readonly Call[];
  /** Heartbeats and reports on one job, in order, whichever way they were sent. */
  itemsOf(jobId: string, ...kinds: readonly ItemKind[]): readonly Item[];
  /** The jobs that the worker was given, in order, and when. */
  leased(): readonly (LeasedJob & { readonly at: number })[];
  close(): Promise<void>;
}

/** Longer than any scenario: only the kit and the worker close connections. */
const KEEP_ALIVE_MS = 120_000;

export async function startProxy(serverUrl: string): Promise<Proxy> {
  const target = new URL(serverUrl);
  const agent = new Agent({ keepAlive: true });
  const calls: Call[] = [];
  let rules: readonly Rule[] = [];
  let clockMs = 0;

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const at = performance.now();
    const { method = '', url: path = '', headers } = incoming;
    const body = await readAll(incoming);
    const call = readCall(method, path, body, at);
    calls.push(call);
    const gone = new AbortController();
    outgoing.on('close', () => {
      if (outgoing.writableFinished) return;
      call.hungUpAt ??= performance.now();
      gone.abort();
    });
    const seen = await perform(actionFor(rules, call), call, (replaced = body) =>
      passOn(target, agent, { method, path, headers, body: replaced }, gone.signal),
    );
    if (seen === 'silence') return;
    if (seen === 'closed') return void outgoing.destroy();
    const answer = clockMs === 0 ? seen : moveInstants(seen, clockMs);
    noteAnswer(call, answer.status, answer.body, performance.now());
    const length = answer.status === 204 ? {} : { 'content-length': Buffer.byteLength(answer.body) };
    outgoing.writeHead(answer.status, { ...answer.headers, ...length });
    outgoing.end(answer.status === 204 ? undefined : answer.body);
  };

  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    addRule: (rule) => {
      rules = [...rules, rule];
    },
    clearRules: () => {
      rules = [];
    },
    moveClock: (ms) => {
      clockMs = ms;
    },
    leases: () => calls.filter((call) => call.kind === 'lease'),
    itemsOf: (jobId, ...kinds) =>
      calls.flatMap((call) => call.items.filter((item) => item.jobId === jobId && kinds.includes(item.kind))),
    leased: () => calls.flatMap((call) => call.leased.map((job) => ({ ...job, at: call.answeredAt ?? call.at }))),
    close: async () => {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function actionFor(rules: readonly Rule[], call: Call): Action | undefined {
  for (const rule of rules) {
    const action = rule(call);
    if (action !== undefined) return action;
  }
  return undefined;
}
