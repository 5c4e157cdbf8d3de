/** The command was called in a way that makes no sense: one line, exit code 2. Never quotes a value. */
export class Misuse extends Error {
  override readonly name = 'Misuse';
}

/** What the process ends with. Scripts rely on them. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  jobFailed: 3,
  noAccess: 4,
  notFound: 5,
  pending: 8,
  interrupted: 130,
} as const;

/** What they mean, for the help and docs/cli.md. */
export const EXIT_MEANINGS = [
  [EXIT.ok, 'done'],
  [EXIT.failed, 'it failed'],
  [EXIT.usage, 'usage error'],
  [EXIT.jobFailed, 'the job or workflow failed or was cancelled'],
  [EXIT.noAccess, 'no access: the token is unknown or may not do this'],
  [EXIT.notFound, 'not found'],
  [EXIT.pending, 'still pending when the wait timed out'],
  [EXIT.interrupted, 'interrupted'],
] as const;
