/** The timer of this process and the clock of the database may differ by a little. */
const SLACK_MS = 2;
/** A due job that we could not claim is locked by another claimer; its commit is a moment away. */
const BUSY_MS = 20;

/** How long to wait for a job that falls due in `secs` by the database's clock. Null: no job waits. */
export const dueDelayMs = (secs: number | null): number =>
  secs === null ? Infinity : Math.max(BUSY_MS, secs * 1000 + SLACK_MS);
