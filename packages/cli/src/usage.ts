/** The command was called in a way that makes no sense: one line, exit code 2. Never quotes a value. */
export class Misuse extends Error {
  override readonly name = 'Misuse';
}

/** What the process ends with. Documented in docs/cli.md; scripts rely on them. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  /** The job or workflow that was waited for failed or was cancelled. */
  jobFailed: 3,
  noAccess: 4,
  notFound: 5,
  /** Still pending when the time for waiting was over. */
  pending: 8,
  interrupted: 130,
} as const;
