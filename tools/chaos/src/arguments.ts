import { randomInt } from 'node:crypto';
import { readFlags, UsageError, wholeNumber } from '@millrace/tools-shared';

export interface Arguments {
  readonly seed: number;
  readonly only: readonly number[] | null;
  readonly except: readonly number[];
  readonly scale: number | null;
  readonly short: boolean;
  readonly json: string | null;
  readonly publish: boolean;
  readonly mutants: boolean;
}

export const USAGE = `npm run chaos -- [flags]

  --seed N      draw everything random from this seed (printed at the start of every run)
  --only LIST   only these rows of the table in docs/reliability.md, such as 1,5,16; with --mutants, these mutants
  --except LIST without these rows
  --scale X     X times the full counts; 1 is the full run (default: the everyday counts)
  --short       without the rows that npm run test:full leaves out: its other tests prove the same on a small scale
  --json FILE   write the outcome to this file
  --publish     write the table into docs/reliability.md
  --mutants     run against copies of the build with one thing broken in each; every one must be caught
`;

const MAX_SEED = 0xffff_ffff;
const MAX_ROW = 999;

const FLAGS = {
  seed: { type: 'string' },
  only: { type: 'string' },
  except: { type: 'string' },
  scale: { type: 'string' },
  short: { type: 'boolean', default: false },
  json: { type: 'string' },
  publish: { type: 'boolean', default: false },
  mutants: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

export function readArguments(argv: readonly string[]): Arguments {
  const values = readFlags(argv, FLAGS);
  if (values.help) throw new UsageError(USAGE, 0);
  return {
    seed: values.seed === undefined ? randomInt(1_000_000) : wholeNumber('seed', values.seed, MAX_SEED),
    only: values.only === undefined ? null : rowsIn('only', values.only),
    except: values.except === undefined ? [] : rowsIn('except', values.except),
    scale: values.scale === undefined ? null : readScale(values.scale),
    short: values.short,
    json: values.json ?? null,
    publish: values.publish,
    mutants: values.mutants,
  };
}

const rowsIn = (flag: string, list: string): number[] => list.split(',').map((row) => wholeNumber(flag, row, MAX_ROW));

function readScale(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value;
  throw new UsageError(`--scale must be a number above 0, not ${text}`);
}
