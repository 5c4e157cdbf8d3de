import { EmbeddedError, MillraceError, OutboxError, redactUrl, SchemaError, UsageError } from '@millrace/server';
import { MemberFailure } from './fleet/member-failure.js';

/** One line for the operator, without secrets: what failed and, where we know it, what to do. */
export const explain = (error: unknown): string => redactUrl(explanation(error));

export const exitCodeOf = (error: unknown): number =>
  error instanceof UsageError || error instanceof MemberFailure ? error.exitCode : 1;

function explanation(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ([UsageError, EmbeddedError, SchemaError, OutboxError].some((known) => error instanceof known))
    return error.message;
  if (error instanceof MillraceError) return oneLine([error.message, reason(error.cause)]);
  return listenFailure(error) ?? oneLine([error.message || error.name, reason(error.cause)]);
}

const oneLine = (parts: readonly string[]): string =>
  parts
    .filter(Boolean)
    .join(': ')
    .replaceAll(/\s*\n\s*/g, ' ');

/** Attempts to connect to a name with several addresses fail as one AggregateError, which has no message of its own. */
function reason(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(reason).join(', ');
  return cause instanceof Error ? cause.message : '';
}

function listenFailure(error: NodeJS.ErrnoException & { address?: string; port?: number }): string | null {
  if (error.syscall !== 'listen' && error.syscall !== 'bind' && error.syscall !== 'getaddrinfo') return null;
  const where = error.port === undefined ? (error.address ?? 'that address') : `${error.address ?? ''}:${error.port}`;
  switch (error.code) {
    case 'EADDRINUSE':
      return `${where} is already in use; choose another port with --api-port or --metrics-port`;
    case 'EACCES':
      return `not allowed to listen on ${where}`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `cannot listen on --host: this machine has no such address (${error.message})`;
    default:
      return null;
  }
}
