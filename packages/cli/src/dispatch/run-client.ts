import type { Context, Run } from '../invocation/context.js';
import type { Invocation } from '../invocation/invocation.js';
import { parse, type Parsed } from '../invocation/parse.js';
import type { Options, Spec } from '../specs/spec.js';
import { EXIT } from '../invocation/exit.js';

/** Runs a command that is not the server, and says what went wrong. */
export async function runClient(
  { spec, load }: { readonly spec: Spec; readonly load: () => Promise<Run<Options>> },
  { argv, env, io, signal }: Pick<Invocation, 'argv' | 'env' | 'io' | 'signal'>,
): Promise<number> {
  const parsed: Parsed<Options> = parse(spec, argv);
  const interruption = signal === undefined && !spec.ownSignals ? onInterrupt() : null;
  const context: Context = {
    ...parsed,
    env,
    io,
    signal: signal ?? interruption?.signal ?? new AbortController().signal,
  };
  try {
    const run = await load();
    return await run(context);
  } catch (error) {
    if (context.signal.aborted) {
      io.complain('millrace: interrupted\n');
      return EXIT.interrupted;
    }
    const { explainClient } = await import('./client-failure.js');
    const { lines, code } = explainClient(error, context);
    io.complain(`millrace: ${lines.join('\n')}\n`);
    return code;
  } finally {
    interruption?.release();
  }
}

/** Ctrl-C aborts what the command does; once more ends the process at once. */
function onInterrupt(): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const handle = (): void => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    controller.abort();
  };
  process.on('SIGINT', handle);
  return { signal: controller.signal, release: () => void process.removeListener('SIGINT', handle) };
}
