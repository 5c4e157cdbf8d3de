import type { JobNames, Reads } from '../engine/jobs/reads.js';
import type { Hub, SettledNews } from '../engine/shared/hub.js';
import { LineBudget } from '../telemetry/line-budget.js';

/**
 * For a developer at the terminal: one line per job that this process has seen end. The names that a settlement does
 * not carry are looked up, which nobody would do in production. Bounded like every log: what does not fit is counted.
 */
const GATHER_MS = 50;

export class FinishedLines {
  readonly #budget: LineBudget;
  readonly #unsubscribe: () => void;
  #ended: SettledNews[] = [];
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    hub: Pick<Hub, 'onSettled'>,
    private readonly reads: Pick<Reads, 'namesOf'>,
    private readonly print: (line: string) => void,
  ) {
    this.#budget = new LineBudget((n) => print(`  … and ${n} more jobs finished`));
    this.#unsubscribe = hub.onSettled((news) => this.#hear(news));
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    if (this.#timer) clearTimeout(this.#timer);
    this.#flush();
    await this.#writing;
    this.#budget.tell();
  }

  #hear(news: SettledNews): void {
    if (!isEnd(news) || !this.#budget.take()) return;
    this.#ended.push(news);
    this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS);
  }

  #flush(): void {
    this.#timer = null;
    const ended = this.#ended;
    this.#ended = [];
    if (ended.length > 0) this.#writing = this.#writing.then(() => this.#write(ended));
  }

  async #write(ended: readonly SettledNews[]): Promise<void> {
    const names = await this.reads.namesOf(ended).catch(() => new Map<string, JobNames>());
    for (const news of ended) this.print(lineOf(news, names.get(news.id) ?? news));
  }
}

const isEnd = ({ outcome }: SettledNews): boolean =>
  outcome === 'completed' || outcome === 'failed' || outcome === 'cancelled';

function lineOf(
  { id, outcome, runSecs, reason }: SettledNews,
  { task, queue }: Pick<SettledNews, 'task' | 'queue'>,
): string {
  const sign = outcome === 'completed' ? '✓' : '✗';
  const how = outcome === 'completed' ? '' : outcome === 'failed' ? `  ${reason ?? 'failed'}` : '  cancelled';
  const took = runSecs === null ? '' : `  ${durationText(runSecs)}`;
  return `  ${sign} ${plain(task)}  ${plain(queue)}  ${id}${took}${how}`;
}

const durationText = (secs: number): string => (secs < 1 ? `${Math.round(secs * 1000)} ms` : `${secs.toFixed(1)} s`);

/** Names are the callers' and may hold anything; a terminal must not act on it. */
const plain = (name: string | null): string =>
  (name ?? '?').replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '�');
