import type { Operation, OperationAction } from '@millrace/contract';

const WORDS: Readonly<Record<OperationAction, string>> = {
  cancel_jobs: 'Cancel jobs',
  replay_dead_letters: 'Replay dead letters',
  resume_workflows: 'Resume workflows',
  run_jobs_now: 'Run jobs now',
  rerun_jobs: 'Rerun jobs',
};

export const actionWords = ({ action }: Pick<Operation, 'action'>): string => WORDS[action];

/** The filter in a line: "queue mail, status pending". */
export const filterWords = ({ filter }: Pick<Operation, 'filter'>): string =>
  filter === null
    ? 'selected rows'
    : Object.entries(filter)
        .map(
          ([name, value]) =>
            `${name.replaceAll('_', ' ')} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`,
        )
        .join(', ');

/** How much is done, between 0 and 1. */
export const partDone = ({ status, matched, done }: Operation): number =>
  status === 'completed' ? 1 : matched.n === 0 ? 0 : Math.min(1, done / matched.n);
