import { closeSync, openSync, readFileSync } from 'node:fs';
import { PATIENCE_MS, startProgram, until, type Program, type ProgramSpec } from '@millrace/tools-shared';

export interface ProcessSpec extends Pick<ProgramSpec, 'script' | 'args' | 'env' | 'nodeArgs'> {
  readonly name: string;
  readonly logFile: string;
}

/** A Node.js process that may be paused, resumed and killed; its output goes to a file. */
export class ManagedProcess {
  readonly exited: Promise<void>;
  readonly #program: Program;
  #ended = false;
  #expected = false;
  #mayExit = false;

  constructor(
    readonly spec: ProcessSpec,
    onUnexpectedExit: (message: string, code: number | null) => void = () => undefined,
  ) {
    const log = openSync(spec.logFile, 'w');
    this.#program = startProgram({ ...spec, stdio: ['ignore', log, log] });
    closeSync(log);
    this.exited = this.#program.exited.then(({ code, signal }) => {
      this.#ended = true;
      if (this.#expected || this.#mayExit) return;
      onUnexpectedExit(`${spec.name} exited by itself (${String(code ?? signal)}): ${this.#lastWords()}`, code);
    });
  }

  get pid(): number {
    return this.#program.pid;
  }

  get isAlive(): boolean {
    return !this.#ended && !this.#expected;
  }

  pause(): void {
    this.#program.child.kill('SIGSTOP');
  }

  /** SIGHUP: it reads its files again. */
  hangUp(): void {
    this.#program.child.kill('SIGHUP');
  }

  resume(): void {
    this.#program.child.kill('SIGCONT');
  }

  /** kill -9; resolves when it is gone. */
  async kill(): Promise<void> {
    this.#expected = true;
    this.#program.child.kill('SIGKILL');
    await this.exited;
  }

  /** SIGTERM: asks for an orderly exit; resolves when it is gone. */
  async terminate(): Promise<void> {
    this.#expected = true;
    this.#program.child.kill('SIGTERM');
    await this.exited;
  }

  /** Resolves when it has gone by itself: for a row whose fault is that. */
  async exitsByItself(withinMs = PATIENCE_MS): Promise<void> {
    this.#mayExit = true;
    await until(() => this.#ended, { what: `${this.spec.name} to exit`, withinMs });
  }

  output(): string {
    return readFileSync(this.spec.logFile, 'utf8');
  }

  /** Resolves to the first log line with this `msg`; fails if the process exits before that. */
  logged(message: string, withinMs = PATIENCE_MS): Promise<Readonly<Record<string, unknown>>> {
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
