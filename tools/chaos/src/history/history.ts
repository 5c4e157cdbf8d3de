import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { monotonicMs } from '@millrace/tools-shared';
import type { Answer, Call } from './calls.js';

/** Where calls and answers are recorded: in memory by the suite, in a file by a process that may be killed. */
export interface Journal {
  call(call: Call): void;
  answer(answer: Answer): void;
}

export interface Entry {
  readonly call: Call;
  readonly answer: Answer | null;
}

interface Span {
  readonly from: number;
  to: number;
}

export class History implements Journal {
  readonly #calls = new Map<string, Call>();
  readonly #answers = new Map<string, Answer>();
  readonly #outages: Span[] = [];
  /** How many bytes of each file have been read. */
  readonly #loaded = new Map<string, number>();

  call(call: Call): void {
    this.#calls.set(call.id, call);
  }

  answer(answer: Answer): void {
    this.#answers.set(answer.id, answer);
  }

  /**
   * Adds what another process has written since the last time. The last line may be incomplete if the process was
   * killed.
   */
  load(path: string): void {
    if (!existsSync(path)) return;
    const from = this.#loaded.get(path) ?? 0;
    const unread = readFileSync(path).subarray(from);
    const whole = unread.subarray(0, unread.lastIndexOf('\n') + 1);
    this.#loaded.set(path, from + whole.length);
    for (const line of whole.toString('utf8').split('\n').slice(0, -1)) {
      const { call, answer } = JSON.parse(line) as { call?: Call; answer?: Answer };
      if (call) this.call(call);
      if (answer) this.answer(answer);
    }
  }

  /** Until the returned function is called the database may be unreachable, and 503 is an acceptable answer. */
  beginOutage(): () => void {
    const span: Span = { from: monotonicMs(), to: Number.POSITIVE_INFINITY };
    this.#outages.push(span);
    return () => (span.to = Math.min(span.to, monotonicMs()));
  }

  /** Whether any part of the call fell into a declared outage. */
  duringOutage({ call, answer }: Entry): boolean {
    const end = answer?.endedAt ?? Number.POSITIVE_INFINITY;
    return this.#outages.some(({ from, to }) => call.startedAt <= to && end >= from);
  }

  entries(): readonly Entry[] {
    return [...this.#calls.values()].map((call) => ({ call, answer: this.#answers.get(call.id) ?? null }));
  }
}

/** Each line is written before the call continues, so it survives a kill. */
export function fileJournal(path: string): Journal & { close(): void } {
  const file = openSync(path, 'a');
  const write = (line: object): void => void writeSync(file, `${JSON.stringify(line)}\n`);
  return {
    call: (call) => write({ call }),
    answer: (answer) => write({ answer }),
    close: () => closeSync(file),
  };
}
