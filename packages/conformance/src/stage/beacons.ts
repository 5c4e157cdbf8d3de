import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readAll } from '../proxy/upstream.js';

export type BeaconEvent = 'started' | 'aborted' | 'finished' | 'ran';

/** What a task under test said about itself, and when, on the monotonic clock. */
export interface Beacon {
  readonly event: BeaconEvent;
  readonly at: number;
  /** Which one, of `ran`. */
  readonly step: string | null;
}

/** Where one job posts what happens to it. */
export interface BeaconAddress {
  readonly url: string;
  readonly seen: readonly Beacon[];
}

/** Receives the beacons of all scenarios; each job has an address of its own. */
export interface BeaconReceiver {
  address(): BeaconAddress;
  close(): Promise<void>;
}

export async function startBeaconReceiver(): Promise<BeaconReceiver> {
  const seenAt = new Map<string, Beacon[]>();
  const server = createServer((incoming, outgoing) => {
    const at = performance.now();
    void readAll(incoming).then((body) => {
      const event = eventIn(body);
      if (event !== null) seenAt.get(incoming.url ?? '')?.push({ event, at, step: stepIn(body) });
      outgoing.writeHead(event === null ? 400 : 204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    address: () => {
      const path = `/${randomUUID()}`;
      const seen: Beacon[] = [];
      seenAt.set(path, seen);
      return { url: `${origin}${path}`, seen };
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** `{"event": "started"}`, or just the word. */
function eventIn(body: string): BeaconEvent | null {
  const word = /\b(started|aborted|finished|ran)\b/.exec(body)?.[1];
  return (word as BeaconEvent | undefined) ?? null;
}

/** `{"event": "ran", "step": "charge"}` */
const stepIn = (body: string): string | null => /"step"\s*:\s*"([^"]*)"/.exec(body)?.[1] ?? null;
