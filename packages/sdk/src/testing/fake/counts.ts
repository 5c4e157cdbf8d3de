import type * as Wire from '../../wire/index.js';
import { ok, parameter, type Route } from './request.js';
import type { StoredJob } from './store.js';

/** How much there is, by state; each job counts once. */
const JOB_STATES = ['pending', 'scheduled', 'running', 'retrying', 'completed', 'failed', 'cancelled'] as const;
const WORKFLOW_STATES = ['created', 'running', 'completed', 'failed', 'partially_failed', 'cancelled'] as const;

const exactly = (n: number): Wire.Count => ({ n, exact: true });

const counts: Route = ({ store, query }) => {
  const queue = parameter.text(query, 'queue');
  const isOf = (name: string): boolean => queue === null || name === queue;
  const stateOf = ({ record, dueAt }: StoredJob): string =>
    record.status === 'pending' && dueAt > store.clock.now() ? 'scheduled' : record.status;
  const jobs = [...store.jobs.values()].filter(({ record }) => isOf(record.queue_name)).map(stateOf);
  const workflows = [...store.workflows.values()].map(({ record }) => record.status as string);
  const each = (states: readonly string[], all: readonly string[]): Record<string, Wire.Count> =>
    Object.fromEntries(states.map((state) => [state, exactly(all.filter((one) => one === state).length)]));
  return ok({
    jobs: each(JOB_STATES, jobs),
    dead_letters: exactly(store.deadLetters.filter((letter) => isOf(letter.queue_name) && !letter.replayed_at).length),
    workflows: each(WORKFLOW_STATES, workflows),
  });
};

export const countRoutes: readonly (readonly [string, string, Route])[] = [['GET', '/counts', counts]];
