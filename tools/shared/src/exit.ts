/** What must not outlive this process, however it ends. Only after a SIGKILL is there nobody left to clean up. */
const cleanups = new Set<() => void>();

/** Runs `cleanup` when this process exits. Returns a function that cancels it. */
export function onExit(cleanup: () => void): () => void {
  if (cleanups.size === 0) process.once('exit', cleanUp);
  cleanups.add(cleanup);
  return () => {
    cleanups.delete(cleanup);
    if (cleanups.size === 0) process.off('exit', cleanUp);
  };
}

function cleanUp(): void {
  for (const cleanup of cleanups) {
    try {
      cleanup();
    } catch {
      // The others still have to run.
    }
  }
}

/** A signal by itself ends the process without an 'exit' event, so nothing would be cleaned up. */
export function exitOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));
}
