import type * as Wire from '../../wire/index.js';
import { errorKind } from './error-kind.js';
import { pageByName, parameter, type Route } from './request.js';

/** Dead letters that failed in the same way, the group with the newest first. */
const groups: Route = (request) => {
  const { query, store } = request;
  const since = parameter.instant(query, 'since');
  const [queue, task] = [parameter.text(query, 'queue_name'), parameter.text(query, 'task_name')];
  const wanted = store.deadLetters
    .filter((letter) => since === null || Date.parse(letter.created_at) >= Date.parse(since))
    .filter((letter) => (queue ?? letter.queue_name) === letter.queue_name)
    .filter((letter) => (task ?? letter.task_name) === letter.task_name)
    .filter(
      ({ replayed_at: at }) => query.replayed === undefined || (at !== null) === parameter.truth(query, 'replayed'),
    );
  const found = new Map<string, Wire.DeadLetterGroup>();
  for (const { fingerprint, task_name, reason, error_message, created_at, id, replayed_at } of wanted) {
    const before = found.get(fingerprint);
    found.delete(fingerprint);
    found.set(fingerprint, {
      ...{ fingerprint, task_name, reason, message: errorKind(error_message), count: (before?.count ?? 0) + 1 },
      open: (before?.open ?? 0) + Number(replayed_at === null),
      ...{ first_at: before?.first_at ?? created_at, last_at: created_at, latest_id: id },
    });
  }
  return pageByName(request, 'groups', [...found.values()].reverse());
};

export const groupRoutes: readonly (readonly [string, string, Route])[] = [['GET', '/dlq/groups', groups]];
