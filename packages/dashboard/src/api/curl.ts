import type { Change } from './client.js';
import { API_ADDRESS } from '../lib/places.js';

/** A word for a POSIX shell, in single quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The command that does the same. The credential is named, never written out: commands are pasted into chats. */
export function curlOf(request: Change | { readonly method: 'GET'; readonly path: string }): string {
  const lines = [
    `curl -sS${request.method === 'GET' ? '' : ` -X ${request.method}`} ${quoted(API_ADDRESS + request.path)}`,
  ];
  lines.push('-H "Authorization: Bearer $MILLRACE_TOKEN"');
  if ('idempotencyKey' in request && request.idempotencyKey !== undefined) {
    lines.push(`-H ${quoted(`Idempotency-Key: ${request.idempotencyKey}`)}`);
  }
  if ('body' in request && request.body !== undefined) {
    lines.push("-H 'Content-Type: application/json'", `-d ${quoted(request.body)}`);
  }
  return lines.join(' \\\n  ');
}
