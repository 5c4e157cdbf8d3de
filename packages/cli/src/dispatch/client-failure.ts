import { MillraceError } from '@millrace/sdk';
import type { Caller } from '../connection/connect.js';
import { targetOf } from '../connection/target.js';
import { plain } from '../terminal/plain.js';
import { EXIT, Misuse } from '../invocation/exit.js';

/** What to tell of a client command's failure, without secrets, and the exit code. */
export function explainClient(error: unknown, caller: Caller): { lines: string[]; code: number } {
  if (error instanceof Misuse) return { lines: [error.message], code: EXIT.usage };
  if (!(error instanceof Error)) return { lines: [String(error)], code: EXIT.failed };
  const hide = hider(caller);
  if (!(error instanceof MillraceError)) return { lines: [hide(plain(error.message))], code: EXIT.failed };
  // What the server said; the call that it said it to is of no interest to a person.
  const message = hide(plain(error.status === null ? error.message : error.message.replace(/^[A-Z]+ \S+: /, '')));
  const details = error.details.map(({ path, message: fault }) => hide(plain(`  ${path}: ${fault}`)));
  return { lines: [message, ...details, ...advice(error)], code: codeOf(error) };
}

function codeOf({ code, message }: MillraceError): number {
  if (isUnknownRoute(message)) return EXIT.failed;
  switch (code) {
    case 'unauthorized':
    case 'forbidden':
      return EXIT.noAccess;
    case 'not_found':
      return EXIT.notFound;
    case 'timeout':
      return EXIT.pending;
    case 'aborted':
      return EXIT.interrupted;
    default:
      return EXIT.failed;
  }
}

function advice({ code, message, mayHaveHappened, key }: MillraceError): string[] {
  const lines: string[] = [];
  if (isUnknownRoute(message)) lines.push('  the server does not know this; it may be older than this program');
  if (code === 'no_answer')
    lines.push('  is a server running there? `millrace dev` starts one; `millrace config show` says where we look');
  if (code === 'unauthorized') lines.push('  `millrace config show` says which token is used');
  if (mayHaveHappened && key !== null) lines.push(`  it may have happened; repeat it with --key ${key} to be safe`);
  return lines;
}

/** What an older server answers to a newer question: not that a thing is missing, but that it knows no such things. */
const isUnknownRoute = (message: string): boolean => message.includes('no such route');

/** Takes tokens, and the password of an address, out of a text. */
function hider(caller: Caller): (text: string) => string {
  let secrets: string[] = [];
  try {
    const { token, workerToken, adminToken } = targetOf(caller.connection, caller.env);
    secrets = [token.value, workerToken.value, adminToken.value].filter((secret) => secret.length > 3);
  } catch {
    // Then none was used.
  }
  return (text) =>
    secrets.reduce((rest, secret) => rest.replaceAll(secret, '…'), text).replaceAll(/\/\/[^/\s@]*@/g, '//…@');
}
