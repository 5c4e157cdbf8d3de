import type { CellMap } from '../domain/cells.js';
import { asRefusal, isUnavailable, MillraceError } from '../domain/errors.js';
import { isUuid } from '../domain/ids.js';
import type { WorkerApi } from '../engine/api.js';
import type { LongPolls } from '../engine/leases/long-poll.js';
import type { CellRouter } from './cell.js';

/** The protocol of remote workers over several databases: a lease hears all of them, and a report goes to one. */
export function workerOver({ ofId }: CellRouter, map: CellMap, polls: Pick<LongPolls, 'lease'>): WorkerApi {
  const groups = (ids: readonly string[]): number[][] => {
    const byCell = new Map<number, number[]>();
    ids.forEach((id, place) => {
      const cell = isUuid(id) ? map.ofId(id) : -1;
      byCell.set(cell, [...(byCell.get(cell) ?? []), place]);
    });
    return [...byCell.values()];
  };

  /** Each part to its cell. What a cell that is away should have done is refused; if none did anything, all of it. */
  const spread = async <Item extends { readonly id: string }, Answer>(
    items: readonly Item[],
    ask: (worker: WorkerApi, part: readonly Item[]) => Promise<readonly (Answer | MillraceError)[]>,
  ): Promise<(Answer | MillraceError)[]> => {
    const answers = new Array<Answer | MillraceError>(items.length);
    const part = async (places: readonly number[]): Promise<void> => {
      const own = places.map((place) => items[place]!);
      const given = await Promise.resolve()
        .then(() => ask(ofId(own[0]!.id).worker, own))
        .catch(asRefusal);
      places.forEach((place, n) => (answers[place] = given instanceof MillraceError ? given : given[n]!));
    };
    await Promise.all(groups(items.map(({ id }) => id)).map(part));
    if (items.length > 0 && answers.every(isUnavailable)) throw answers[0] as MillraceError;
    return answers;
  };

  return {
    lease: (request, signal) => polls.lease(request, signal),
    heartbeat: async (beat) => ofId(beat.id).worker.heartbeat(beat),
    heartbeats: (beats) => spread(beats, (worker, part) => worker.heartbeats(part)),
    complete: async (id, ...rest) => ofId(id).worker.complete(id, ...rest),
    fail: async (id, ...rest) => ofId(id).worker.fail(id, ...rest),
    release: async (id, ...rest) => ofId(id).worker.release(id, ...rest),
    checkpoint: async (id, ...rest) => ofId(id).worker.checkpoint(id, ...rest),
    children: async (id, ...rest) => ofId(id).worker.children(id, ...rest),
    suspend: async (id, ...rest) => ofId(id).worker.suspend(id, ...rest),
    report: (reports) => spread(reports, (worker, part) => worker.report(part)),
    queuesOf: async (ids) => {
      const queues = new Map<string, string | MillraceError>();
      const part = async (places: readonly number[]): Promise<void> => {
        const own = places.map((place) => ids[place]!);
        const found = await Promise.resolve()
          .then(() => ofId(own[0]!).worker.queuesOf(own))
          .catch(asRefusal);
        if (found instanceof MillraceError) own.forEach((id) => queues.set(id.toLowerCase(), found));
        else found.forEach((queue, id) => queues.set(id, queue));
      };
      await Promise.all(groups(ids).map(part));
      return queues;
    },
  };
}
