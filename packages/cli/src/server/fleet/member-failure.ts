/** A process could not start at all: the line for the operator, and the exit code. */
export class MemberFailure extends Error {
  constructor(
    message: string,
    readonly exitCode: number,
  ) {
    super(message);
  }
}
