import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { onExit, until } from '@millrace/tools-shared';

export interface ProcessSpec {
  readonly name: string;
  readonly script: string;
  readonly args?: readonly string[];
  /** Replaces the environment of the suite, so that no MILLRACE_ variable slips in. */
  readonly env?: Readonly<Record<string, string>>;
  /** Passed to node itself, before the script. */
  readonly nodeArgs?: readonly string[];
  readonly logFile: string;
}

/** A Node.js process that may be paused, resumed and killed; its output goes to a file. */
export class ManagedProcess {
  readonly exited: Promise<void>;
  readonly #child: ChildProcess;
  #ended = false;
  #expected = false;
  #mayExit = false;

  constructor(
    readonly spec: ProcessSpec,
    onUnexpectedExit: (message: string, code: number | null) => void = () => undefined,
  ) {
    const log = openSync(spec.logFile, 'w');
    this.#child = spawn(process.execPath, [...(spec.nodeArgs ?? []), spec.script, ...(spec.args ?? [])], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...spec.env },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    const forget = onExit(() => this.#child.kill('SIGKILL'));
    this.exited = once(this.#child, 'exit').then(([code, signal]: unknown[]) => {
      this.#ended = true;
      forget();
      if (this.#expected || this.#mayExit) return;
      onUnexpectedExit(
        `${spec.name} exited by itself (${String(code ?? signal)}): ${this.#lastWords()}`,
        code as number | null,
      );
    });
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  get isAlive(): boolean {
    return !this.#ended && !this.#expected;
  }

  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** kill -9; resolves when it is gone. */
  async kill(): Promise<void> {
    this.#expected = true;
    this.#child.kill('SIGKILL');
    await this.exited;
  }

  /** SIGTERM: asks for an orderly exit; resolves when it is gone. */
  async terminate(): Promise<void> {
    this.#expected = true;
    this.#child.kill('SIGTERM');
    await this.exited;
  }

  /** Resolves when it has gone by itself: for a row whose fault is that. */
  async exitsByItself(withinMs = 60_000): Promise<void> {
    this.#mayExit = true;
    await until(() => this.#ended, { what: `${this.spec.name} to exit`, withinMs });
  }

  output(): string {
    return readFileSync(this.spec.logFile, 'utf8');
  }

  /** Resolves to the first log line with this `msg`; fails if the process exits before that. */
  logged(message: string, withinMs = 60_000): Promise<Readonly<Record<string, unknown>>> {
    return until(
      () => {
        const found = this.lines().find((line) => line.msg === message);
        if (found === undefined && this.#ended) throw new Error(`${this.spec.name} exited early: ${this.#lastWords()}`);
        return found;
      },
      { what: `${this.spec.name} to log "${message}"`, withinMs, everyMs: 10 },
    );
  }

  /** The lines of its log that are JSON. */
  lines(): readonly Readonly<Record<string, unknown>>[] {
    return this.output()
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  #lastWords(): string {
    return this.output().trimEnd().split('\n').slice(-3).join(' / ');
  }
}
