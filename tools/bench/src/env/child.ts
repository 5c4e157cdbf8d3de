import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onExit } from '@millrace/tools-shared';

/**
 * Programs in processes of their own that are called like objects: `child.call('drain', 1000)` runs `drain(1000)`
 * there. Whatever is measured and whatever generates load runs in such a process, so that it shares no event loop and
 * no heap.
 */
export type Methods = Record<string, (argument: never) => unknown>;

type Arguments<M> = M extends () => unknown ? [] : M extends (argument: infer A) => unknown ? [A] : never;
type Answer<M> = M extends (argument: never) => infer R ? Awaited<R> : never;

interface Request {
  readonly id: number;
  readonly method: string;
  readonly argument: unknown;
}

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

export interface Child<M extends Methods> {
  readonly pid: number;
  call<N extends keyof M & string>(method: N, ...argument: Arguments<M[N]>): Promise<Answer<M[N]>>;
  stop(): Promise<void>;
}

/** `script` is relative to the directory of the built benchmark. */
export function startChild<M extends Methods>(script: string): Child<M> {
  const path = fileURLToPath(new URL(`../${script}`, import.meta.url));
  const child = fork(path, [], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], serialization: 'advanced' });
  const forget = onExit(() => child.kill('SIGKILL'));
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  child.on('message', ({ id, value, error }: Reply) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) call?.resolve(value as never);
    else call?.reject(new Error(`${script}: ${error}`));
  });
  child.on('exit', (code, signal) => {
    forget();
    for (const { reject } of waiting.values()) reject(new Error(`${script} exited early (${code ?? signal})`));
  });
  let calls = 0;
  return {
    pid: child.pid ?? -1,
    call: (method, ...[argument]) =>
      new Promise((resolve, reject) => {
        const request: Request = { id: ++calls, method, argument };
        waiting.set(request.id, { resolve, reject });
        child.send(request);
      }),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

/** The other side: answers calls until the parent disconnects. */
export function serveCalls(methods: Methods, close: () => Promise<void> = async () => undefined): void {
  const answer = async ({ id, method, argument }: Request): Promise<Reply> => {
    try {
      const run = methods[method];
      if (!run) throw new Error(`there is no method ${method}`);
      return { id, value: await run(argument as never) };
    } catch (error) {
      return { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
  };
  process.on('message', (request: Request) => void answer(request).then((reply) => process.send?.(reply)));
  process.once('disconnect', () => {
    void close().finally(() => process.exit(0));
  });
}
