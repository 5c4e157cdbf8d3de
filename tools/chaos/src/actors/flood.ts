import { connect, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type { FloodOrder, FloodReport } from '../support/flood.js';

/**
 * Callers without manners, in a thread of their own: each sends its next request the moment it has an answer, whatever
 * the answer was, and reconnects when it is cut off. Uses the bare socket, since a client slower than the service is no
 * flood.
 */
const { port, token, callers, large, largeBytes, queue } = workerData as FloodOrder;

const report: FloodReport = {
  acceptedMs: [],
  ids: [],
  refused: 0,
  malformedRefusals: 0,
  otherStatuses: {},
  cutOff: 0,
};
let stopping = false;

function requestOf(payload: string): string {
  const body = `{"task_name":"work","payload":{"x":"${payload}"},"config":{"queue":"${queue}"}}`;
  return (
    `POST /api/v1/jobs HTTP/1.1\r\nHost: flood\r\nAuthorization: Bearer ${token}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  );
}
const SMALL = requestOf('');
const LARGE = requestOf('x'.repeat(largeBytes));

const HEAD_END = '\r\n\r\n';

class Caller {
  #socket: Socket;
  #text = '';
  #sentAt = 0;

  constructor(private readonly request: string) {
    this.#socket = this.#connect();
  }

  #connect(): Socket {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => this.#send());
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => this.#receive(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (stopping) return;
      report.cutOff += 1;
      this.#text = '';
      setTimeout(() => (this.#socket = this.#connect()), 50);
    });
    return socket;
  }

  #send(): void {
    if (stopping) return void this.#socket.end();
    this.#sentAt = performance.now();
    this.#socket.write(this.request);
  }

  #receive(chunk: string): void {
    this.#text += chunk;
    const headEnd = this.#text.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const head = this.#text.slice(0, headEnd).toLowerCase();
    const bodyStart = headEnd + HEAD_END.length;
    const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0);
    if (this.#text.length < bodyStart + length) return;
    const body = this.#text.slice(bodyStart, bodyStart + length);
    this.#text = '';
    this.#count(Number(head.slice(9, 12)), head, body);
    this.#send();
  }

  #count(status: number, head: string, body: string): void {
    if (status === 201) {
      report.acceptedMs.push(performance.now() - this.#sentAt);
      report.ids.push(body.slice('{"job_id":"'.length, -2));
    } else if (status === 503) {
      report.refused += 1;
      const isWellFormed = head.includes('\r\nretry-after: ') && body.includes('"code":"unavailable"');
      if (!isWellFormed) report.malformedRefusals += 1;
    } else {
      report.otherStatuses[status] = (report.otherStatuses[status] ?? 0) + 1;
    }
  }
}

for (let n = 0; n < callers; n++) new Caller(n < large ? LARGE : SMALL);

parentPort?.once('message', () => {
  stopping = true;
  parentPort?.postMessage(report);
  // The last answers do not matter; the thread ends with its sockets.
  setTimeout(() => process.exit(), 200);
});
