/** What must not outlive this process, however it ends. A SIGKILL of it is the one thing nobody can clean up after. */
const cleanups = new Set<() => void>();

/** Returns a function that takes the clean-up back. */
export function onExit(cleanup: () => void): () => void {
  cleanups.add(cleanup);
  return () => void cleanups.delete(cleanup);
}

process.on('exit', () => {
  for (const cleanup of cleanups) {
    try {
      cleanup();
    } catch {
      // The others still have to be done.
    }
  }
});

export function exitOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));
}
