/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-empty-object-type --
   `any` is how TypeScript writes "a workflow of whatever types", and `{} extends In` asks whether all is optional */
import type { Duration } from '../shared/duration.js';
import type { JsonObject } from '../json/object.js';
import type { Policy } from '../task/policy.js';
import type { Workflow as WorkflowRecord, WorkflowStep } from '../records/workflows.js';
import type { AnyTask, InOf, OutOf } from '../task/types.js';
import type { OutOfSchema, StandardSchema } from '../task/schema.js';
import type { Ask, OnFailure, OnTimeout, Otherwise, Scalar, WorkflowStatus } from '../wire/index.js';

declare const referred: unique symbol;

/** A result that does not exist yet. Its fields can be reached; nothing can be computed with it. */
export type Ref<T> = { readonly [referred]: T } & RefFields<T>;
/** Only of objects with fields of their own: lists, records, unions with text and recursive JSON are taken whole. */
type RefFields<T> = [NonNullable<T>] extends [readonly unknown[]]
  ? unknown
  : [NonNullable<T>] extends [object]
    ? string extends keyof NonNullable<T>
      ? unknown
      : { readonly [K in keyof NonNullable<T>]-?: Ref<NonNullable<T>[K] | (undefined extends T ? undefined : never)> }
    : unknown;

/** A payload, any part of which may be a result of an earlier step. */
export type Wired<T> = T | Ref<T> | WiredParts<T>;
type WiredParts<T> = T extends string | number | boolean | null | undefined
  ? never
  : T extends readonly (infer E)[]
    ? readonly Wired<E>[]
    : string extends keyof T
      ? never
      : { [K in keyof T]: Wired<T[K]> };

/**
 * A step and the steps behind it. Written without intersections of unions, which cost the product of their sizes: a
 * chain of steps would take time by the third power of its length.
 */
type Behind<S, A extends string> =
  A | (A extends keyof S ? (S[A] extends { above: infer Up extends string } ? Up : never) : never);
type Visible<S, A extends string> = {
  readonly [K in Behind<S, A>]: K extends keyof S
    ? S[K] extends { each: infer Out; policy: infer P }
      ? readonly Ref<P extends 'continue' ? Out | undefined : Out>[]
      : S[K] extends { out: infer Out; policy: infer P }
        ? Ref<P extends 'continue' ? Out | undefined : Out>
        : never
    : never;
};
type PolicyOf<S, K> = K extends keyof S ? (S[K] extends { policy: infer P } ? P : never) : never;
/** A step that may be passed over, or depends on one that may be skipped, may have no result. */
type Final<S> = {
  [K in keyof S]: S[K] extends { out: infer Out; each?: infer Each; above: infer Up; policy: infer P }
    ? P extends 'halt'
      ? 'skip' extends PolicyOf<S, Up>
        ? Missing<Out, Each>
        : Out
      : Missing<Out, Each>
    : never;
};
/** A list of results keeps its length: what is missing in it is undefined. */
type Missing<Out, Each> = unknown extends Each ? Out | undefined : (Each | undefined)[];

/** A step that was added before, or one line that says that it was not. */
type Above<S, After extends string> = After extends keyof S ? After : `${After} is not a step above`;

/** What payloads, conditions and questions are made of. */
interface From<Parsed, S, After extends string> {
  input: Parsed;
  steps: Visible<S, After>;
}

/**
 * Whether a step runs, judged when its turn comes: what is compared, and exactly one comparison. Where the field leads
 * nowhere the value is null; numbers compare by value.
 *
 * @example
 * when: ({ steps }) => ({ ref: steps.charge.currency, in: ['EUR', 'CHF'] })
 */
export type Condition = {
  /** A result of an earlier step, or a field of one; or the way to a field of the context. */
  ref: { readonly [referred]: unknown } | { readonly path: readonly string[] };
  /**
   * If it does not hold, the step is skipped. `skip` (the default): so is everything behind it. `continue`: what is
   * behind it runs without its result.
   */
  otherwise?: Otherwise;
} & (
  | { is: Scalar; isNot?: never; in?: never }
  | { isNot: Scalar; is?: never; in?: never }
  | { in: readonly Scalar[]; is?: never; isNot?: never }
);
/** What a condition adds to the policy of its step: nothing if there is none. */
type OtherwiseOf<C> = C extends { otherwise: 'continue' } ? 'continue' : C extends Condition ? 'skip' : never;

interface SharedOptions<Parsed, S, After extends string, P extends OnFailure, C extends Condition> {
  /** The steps that must have completed. Their results, and those of the steps behind them, can be used. */
  after?: readonly Above<S, After>[];
  /**
   * What happens if the step fails for good. `halt` (the default): the workflow fails. `skip`: the steps after it are
   * skipped. `continue`: they run without its result.
   */
  onFailure?: P;
  metadata?: JsonObject;
  /** Decides whether the step runs, when its turn comes. */
  when?: (from: From<Parsed, S, After>) => C;
}

export type WorkflowStepOptions<
  T extends AnyTask,
  Parsed,
  S,
  After extends string,
  P extends OnFailure,
  C extends Condition = Condition,
> = Policy &
  SharedOptions<Parsed, S, After, P, C> &
  ({} extends InOf<T>
    ? { payload?: (from: From<Parsed, S, After>) => Wired<InOf<T>> }
    : { payload: (from: From<Parsed, S, After>) => Wired<InOf<T>> });

export type MapOptions<
  Item,
  T extends AnyTask,
  Parsed,
  S,
  After extends string,
  P extends OnFailure,
  C extends Condition = Condition,
> = Policy &
  SharedOptions<Parsed, S, After, P, C> & {
    payload: (from: From<Parsed, S, After>, item: Item, index: number) => Wired<InOf<T>>;
  };

export interface WorkflowWaitOptions<
  Parsed,
  S,
  After extends string,
  P extends OnFailure,
  O extends StandardSchema<any, any>,
  Late extends OnTimeout,
  C extends Condition = Condition,
> extends SharedOptions<Parsed, S, After, P, C> {
  /** How long it waits, from the moment its turn comes; a year at most. */
  timeout: Duration;
  /** The signal's name; that of the step unless said otherwise. */
  signal?: string;
  /** Which one of that name; the id of the workflow unless said otherwise. */
  key?: string | ((from: From<Parsed, S, After>) => string);
  /** A question to a person, shown where waits are. */
  ask?: Ask | ((from: From<Parsed, S, After>) => Ask);
  /** If no signal comes in time: the step fails (`fail`, the default), or completes with `timed_out: true`. */
  onTimeout?: Late;
  /** The type of the signal's value, which is the result of the step: checked by the compiler alone. */
  output?: O;
}
type WaitOut<O extends StandardSchema<any, any>, Late> = 'continue' extends Late
  ? Partial<OutOfSchema<O>> & { timed_out?: true }
  : OutOfSchema<O>;

/** The definition of a workflow: a graph of steps, each a task. */
export interface Workflow<In, Parsed, S> {
  readonly name: string;
  /** The names of its steps. */
  readonly steps: readonly string[];
  /**
   * The workflow with one more step. A step can only follow steps that were added before it, so a cycle cannot be
   * written down.
   *
   * @example .step('ship', ship, { after: ['reserve'], payload: ({ steps }) => ({ shelf: steps.reserve.shelf }) })
   */
  step<
    const Name extends string,
    T extends AnyTask,
    const After extends string = never,
    const P extends OnFailure = 'halt',
    C extends Condition = never,
  >(
    name: Name extends keyof S ? `there is a step ${Name} already` : Name,
    task: T,
    options: WorkflowStepOptions<T, Parsed, S, After, P, C>,
  ): Workflow<In, Parsed, S & Record<Name, { out: OutOf<T>; above: Behind<S, After>; policy: P | OtherwiseOf<C> }>>;
  /**
   * The workflow with one more step that runs no task: it waits for a signal, whose value becomes its result.
   *
   * @example .wait('approved', { after: ['reserve'], timeout: '3d', ask: { text: 'Ship the order?' } })
   */
  wait<
    const Name extends string,
    const After extends string = never,
    const P extends OnFailure = 'halt',
    O extends StandardSchema<any, any> = StandardSchema<JsonObject, JsonObject>,
    const Late extends OnTimeout = 'fail',
    C extends Condition = never,
  >(
    name: Name extends keyof S ? `there is a step ${Name} already` : Name,
    options: WorkflowWaitOptions<Parsed, S, After, P, O, Late, C>,
  ): Workflow<
    In,
    Parsed,
    S & Record<Name, { out: WaitOut<O, Late>; above: Behind<S, After>; policy: P | OtherwiseOf<C> }>
  >;
  /**
   * The workflow with one step per item, side by side: `resize-0`, `resize-1` and so on. Whoever comes after `resize`
   * comes after all of them, and gets their results as a list.
   *
   * @example .map('resize', sizes, resize, { payload: ({ input }, size) => ({ image: input.image, size }) })
   */
  map<
    const Name extends string,
    Item,
    T extends AnyTask,
    const After extends string = never,
    const P extends OnFailure = 'halt',
    C extends Condition = never,
  >(
    name: Name extends keyof S ? `there is a step ${Name} already` : Name,
    items: readonly Item[],
    task: T,
    options: MapOptions<Item, T, Parsed, S, After, P, C>,
  ): Workflow<
    In,
    Parsed,
    S & Record<Name, { out: OutOf<T>[]; each: OutOf<T>; above: Behind<S, After>; policy: P | OtherwiseOf<C> }>
  >;
}

/** Any workflow, whatever its input and its steps. */
export type AnyWorkflow = Workflow<any, any, any>;
/** What a workflow is started with. */
export type WorkflowIn<W> = W extends Workflow<infer In, any, any> ? In : never;
/** The results of a workflow by the names of its steps; those that may be missing are optional. */
export type WorkflowOut<W> = W extends Workflow<any, any, infer S> ? Final<S> : never;

/** A workflow that was started, and the type of what its steps will return. */
export interface WorkflowHandle<Out> {
  readonly id: string;
  status(options?: { signal?: AbortSignal }): Promise<WorkflowStatus>;
  get(options?: { signal?: AbortSignal }): Promise<WorkflowRecord>;
  steps(options?: { signal?: AbortSignal }): Promise<WorkflowStep[]>;
  /**
   * Waits for the workflow to end, for five minutes unless told otherwise, and returns the results of its steps by
   * name. A step that failed or was skipped, by its policy, has none.
   *
   * @throws WorkflowFailedError, WorkflowCancelledError or WaitTimeoutError
   */
  result(options?: { timeout?: Duration; signal?: AbortSignal }): Promise<Out>;
  /** Yields the workflow and its steps as they are, then after every change until the workflow ends. */
  watch(options?: { signal?: AbortSignal }): AsyncIterable<{ workflow: WorkflowRecord; steps: WorkflowStep[] }>;
  cancel(options?: { signal?: AbortSignal }): Promise<void>;
  /**
   * Lets a workflow that failed, failed in part or was cancelled go on: from the named steps, or else from every step
   * that failed or was cancelled. Everything behind them runs again. Returns the names of the steps that do.
   *
   * @throws ConflictError if it has not ended, or completed
   * @example await run.resume({ from: ['charge'], context: { card: 'tok_2' } });
   */
  resume(options?: ResumeOptions): Promise<string[]>;
  /**
   * Sends a signal to it, of which no step need wait for it yet.
   *
   * @throws AlreadyFinishedError if the workflow has ended
   * @example await run.signal('approved', { by: 'mia' });
   */
  signal(name: string, value?: unknown, options?: SignalWorkflowOptions): Promise<{ delivered: boolean }>;
}

/** Options of a signal to a workflow. */
export interface SignalWorkflowOptions {
  /** Makes the call repeatable across processes: one signal per key. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** Options of resuming a workflow. */
export interface ResumeOptions {
  /** The steps to begin with; a completed one may be among them. */
  from?: readonly string[];
  /** Keys that are put over those of the context. */
  context?: JsonObject;
  /** Only says which steps would run again. */
  dryRun?: boolean;
  /** Makes the call repeatable across processes: the same key resumes once. */
  key?: string;
  signal?: AbortSignal;
}
