const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Calls `first` at the first of these signals and `again` at every further one. Returns a function that lets go. */
export function onSignals(first: () => void, again: () => void): () => void {
  let count = 0;
  const listener = (): void => (count++ === 0 ? first() : again());
  for (const signal of SIGNALS) process.on(signal, listener);
  return () => {
    for (const signal of SIGNALS) process.off(signal, listener);
  };
}
