/** What tests need: run a handler, the whole service in memory, or a real server. */
import { Millrace } from '../client/millrace.js';
import type { FakeServer } from './fake-server.js';

export { devServer, type DevServer } from './dev-server.js';
export { FakeServer, type FakeJob } from './fake-server.js';
export { runHandler, runTask, type Run, type RunOptions } from './run-task.js';

/** A client of a fake server: the same as `new Millrace(fake.options)`. */
export function client(of: FakeServer): Millrace {
  return new Millrace(of.options);
}
