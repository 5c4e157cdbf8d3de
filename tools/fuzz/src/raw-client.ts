import { connect, type Socket } from 'node:net';
import { MalformedAnswer, parseAnswer, type Answer } from './answer.js';
import { encode, type Case } from './draft.js';

/** What became of a request. */
export type Outcome =
  | { readonly kind: 'answered'; readonly answers: readonly Answer[] }
  | { readonly kind: 'closed' }
  /** Neither answered nor closed within the time limit. */
  | { readonly kind: 'hung' }
  | { readonly kind: 'malformed'; readonly why: string };

/** Nothing but a long poll takes this long, not even a large body on a machine that is held up. */
const ANSWER_MS = 60_000;
/** A long poll that was asked to wait is abandoned after this, as clients do. */
const PATIENCE_MS = 400;

/**
 * A client on the bare socket, which can send bytes that are not HTTP. It keeps its connection open if the server does.
 */
export class RawClient {
  readonly #port: number;
  #socket: Socket | null = null;

  constructor(port: number) {
    this.#port = port;
  }

  async send(testCase: Case): Promise<Outcome> {
    const { method, version } = testCase.draft;
    if (testCase.raw !== undefined) return this.#sendAlone(testCase.raw, method);
    const reused = this.#socket !== null;
    const socket = (this.#socket ??= this.#open());
    this.#socket = null;
    const outcome = await exchange(socket, encode(testCase.draft), method, {
      isWhole: oneAnswer,
      ms: timeFor(testCase),
    });
    const [answer] = outcome.kind === 'answered' ? outcome.answers : [];
    const staysOpen = answer !== undefined && !answer.isOpen && answer.headers.get('connection') !== 'close';
    if (staysOpen && version === '1.1') this.#socket = socket;
    else socket.destroy();
    // The server may close an idle connection at any moment, even while a request is on its way.
    if (outcome.kind === 'closed' && reused) return this.send(testCase);
    return outcome;
  }

  /** Broken framing: whatever the server makes of it, it has to close the connection once our half is closed. */
  async #sendAlone(bytes: Buffer, method: string): Promise<Outcome> {
    const socket = this.#open();
    socket.on('connect', () => socket.end(bytes));
    const outcome = await exchange(socket, null, method, { isWhole: () => false, ms: ANSWER_MS });
    socket.destroy();
    return outcome;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #open(): Socket {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    // An error is always followed by a close, which is handled.
    return socket.on('error', () => undefined);
  }
}

const oneAnswer = (answers: readonly Answer[]): boolean => answers.length === 1;

/** Whether the request asks the server to wait. */
export function mayWait({ operation, draft }: Case): boolean {
  if (operation.id === 'getJob') return /[?&]wait_secs/.test(draft.target);
  if (operation.id !== 'leaseJobs' && operation.id !== 'waitForJobs') return false;
  return /"wait_secs"\s*:(?!\s*0[,}])/.test(draft.body?.toString('latin1') ?? '');
}

const timeFor = (testCase: Case): number => (mayWait(testCase) ? PATIENCE_MS : ANSWER_MS);

interface Limits {
  readonly isWhole: (answers: readonly Answer[]) => boolean;
  readonly ms: number;
}

function exchange(socket: Socket, bytes: Buffer | null, method: string, { isWhole, ms }: Limits): Promise<Outcome> {
  return new Promise((resolve) => {
    const answers: Answer[] = [];
    let pending: Buffer = Buffer.alloc(0);
    const settle = (outcome: Outcome): void => {
      clearTimeout(timer);
      socket.off('data', onData).off('close', onClose);
      resolve(outcome);
    };
    const timer = setTimeout(() => settle(answers.length > 0 ? { kind: 'answered', answers } : { kind: 'hung' }), ms);
    const read = (isEnd: boolean): void => {
      for (let next = parseAnswer(pending, method, isEnd); next !== null; next = parseAnswer(pending, method, isEnd)) {
        answers.push(next.answer);
        pending = next.rest;
        if (isWhole(answers)) return settle({ kind: 'answered', answers });
        if (pending.length === 0) break;
      }
    };
    const guarded = (isEnd: boolean): void => {
      try {
        read(isEnd);
      } catch (error) {
        if (!(error instanceof MalformedAnswer)) throw error;
        settle({ kind: 'malformed', why: error.message });
      }
    };
    const onData = (chunk: Buffer): void => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      guarded(false);
    };
    const onClose = (): void => {
      guarded(true);
      settle(answers.length > 0 ? { kind: 'answered', answers } : { kind: 'closed' });
    };
    socket.on('data', onData).on('close', onClose);
    if (bytes !== null) socket.write(bytes);
  });
}
