/** The embedded database cannot be used here; the message says why, and what to do, in one line. */
export class EmbeddedError extends Error {
  override readonly name = 'EmbeddedError';
}
