import { readLine, type Io } from '../terminal/io.js';
import { Misuse } from './exit.js';

/** Asks on a terminal. Where nobody can answer, `--yes` is needed. */
export async function confirmed(io: Io, question: string, yes: boolean): Promise<boolean> {
  if (yes) return true;
  if (!io.terminal.stdin || !io.terminal.stderr) throw new Misuse(`${question} Add --yes to do so`);
  io.complain(`${question} [y/N] `);
  return /^y(es)?$/i.test((await readLine(io)).trim());
}
