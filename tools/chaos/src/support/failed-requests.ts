import type { Stage } from '../stage/stage.js';

/** Every request of the row so far was answered, and none of them with an error. */
export function expectNoFailedRequest(stage: Stage): void {
  stage.readJournals();
  const failed = stage.history.entries().filter(({ answer }) => (answer?.status ?? 999) >= 300);
  for (const { call, answer } of failed.slice(0, 10))
    stage.violation(`${call.method} ${call.path} failed: ${answer?.status ?? answer?.lost ?? 'no answer'}`);
  stage.expect(failed.length === 0, `${failed.length} requests failed`);
}
