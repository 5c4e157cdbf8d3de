/** What is said where a job is on the server's own queue, and no server process knows its task. */

const ELSEWHERE = 'remote workers lease from queues that you name in config.queue';
const NO_HANDLER = 'no handler is registered for task';

/** To whoever creates a job of the default queue that will fail at once. */
export const noServerRuns = (task: string): string => `no server process has registered the task ${task}; ${ELSEWHERE}`;

/** What such a job fails with. */
export const noHandlerHere = (task: string): string => `${NO_HANDLER} "${task}"; ${ELSEWHERE}`;
export const saysNoHandler = (error: string): boolean => error.startsWith(NO_HANDLER);
