import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

export interface Arguments {
  readonly seed: number;
  readonly only: readonly number[] | null;
  readonly scale: number | null;
  readonly json: string | null;
  readonly publish: boolean;
  readonly mutants: boolean;
}

export const USAGE = `npm run chaos -- [--seed N] [--only 1,5,16] [--scale X] [--json FILE] [--publish] [--mutants]

  --seed N      draws what is random from this seed (printed at the start of every run)
  --only LIST   these rows of the table in docs/reliability.md, or with --mutants these mutants
  --scale X     X times the full counts; 1 is the full run. Without it, the everyday counts
  --json FILE   writes the outcome there
  --publish     writes the table into docs/reliability.md
  --mutants     runs against copies of the build with one thing broken each; every one must be caught`;

/** Throws an Error with one line for the caller. */
export function readArguments(argv: readonly string[]): Arguments {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seed: { type: 'string' },
      only: { type: 'string' },
      scale: { type: 'string' },
      json: { type: 'string' },
      publish: { type: 'boolean', default: false },
      mutants: { type: 'boolean', default: false },
    },
  });
  return {
    seed: values.seed === undefined ? randomInt(1_000_000) : numberIn('--seed', values.seed),
    only: values.only === undefined ? null : values.only.split(',').map((each) => numberIn('--only', each)),
    scale: values.scale === undefined ? null : numberIn('--scale', values.scale),
    json: values.json ?? null,
    publish: values.publish,
    mutants: values.mutants,
  };
}

function numberIn(flag: string, text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0) throw new Error(`${flag}: ${text} is not a number`);
  return value;
}
