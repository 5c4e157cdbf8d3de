/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-empty-object-type --
   the defaults of the type parameters: a task without input takes {}, one without output returns any object or nothing */
import { InvalidRequestError } from '../errors/call-errors.js';
import { MismatchError } from '../errors/handler-errors.js';
import { isObject, type JsonObject } from '../json/object.js';
import { DEFAULT_QUEUE, type EnqueueOptions, type Policy } from './policy.js';
import { pathOf, type InOfSchema, type OutOfSchema, type SchemaIssue, type StandardSchema } from './schema.js';
import { Batches } from './batch.js';
import type { InputSchema, OutputSchema } from './json-only.js';
import type { AnyTask, Handler, JobContext, Task } from './types.js';

type AnySchema = StandardSchema<any, any>;

/**
 * Defines a task. Definitions are shared by the programs that enqueue and the worker that runs it; the code itself is
 * given to the worker (`handle`), so that a web application never bundles it.
 *
 * @example
 * const sendWelcome = task({
 *   name: 'send_welcome',
 *   queue: 'emails',
 *   input: type<{ userId: number }>(), // or any Standard Schema: z.object({ userId: z.number() })
 *   output: type<{ messageId: string }>(),
 *   retries: { max: 5, delay: '10s' },
 * });
 */
export function task<
  const Name extends string,
  I extends AnySchema = StandardSchema<{}, {}>,
  O extends AnySchema = StandardSchema<JsonObject | void, JsonObject | void>,
>(
  definition: Policy<InOfSchema<I>> & {
    name: Name;
    input?: InputSchema<I>;
    output?: OutputSchema<O>;
  },
): Task<Name, InOfSchema<I>, OutOfSchema<I>, OutOfSchema<O>> {
  const { name, ...rest } = definition;
  const { input, output, ...policy } = rest as { input?: I; output?: O } & Policy<InOfSchema<I>>;
  if (typeof name !== 'string' || name === '') throw new TypeError('a task needs a name');
  const queue = policy.queue ?? DEFAULT_QUEUE;
  const run = (code: (value: any, ctx: JobContext) => unknown): Handler<Name>['run'] =>
    async function (payload, ctx) {
      const value = input === undefined ? payload : await parsed(input, payload, 'the payload');
      const result = (await code(value, ctx)) ?? {};
      if (!isRecord(result)) throw new MismatchError(`a handler returns an object or nothing, not ${kindOf(result)}`);
      return output === undefined ? result : ((await parsed(output, result, 'the result')) as JsonObject);
    };
  const self: AnyTask = {
    name,
    queue,
    policy: Object.freeze({ ...policy, queue }),
    async check(value: unknown) {
      await checked(input, value, `the input of ${name}`);
    },
    with: (value: JsonObject = {}, options: EnqueueOptions = {}) => ({ task: self, input: value, options }),
    handle: (code) => ({ task: name, queue, run: run(code) }),
    handleMany: (code, options = {}) => {
      const batch = new Batches(code, options);
      return { task: name, queue, run: run(batch.run), batch };
    },
  };
  return self as Task<Name, InOfSchema<I>, OutOfSchema<I>, OutOfSchema<O>>;
}

/**
 * What a schema makes of an input that is about to be sent.
 *
 * @throws InvalidRequestError with the fields at fault
 */
export async function checked(schema: AnySchema | undefined, value: unknown, what: string): Promise<unknown> {
  const answer = isObject(value)
    ? ((await schema?.['~standard'].validate(value)) ?? { value })
    : { issues: [{ message: `is ${kindOf(value)}, not an object` }] };
  if (answer.issues === undefined) return answer.value as unknown;
  const details = answer.issues.map((issue) => ({ path: pathOf(issue), message: issue.message }));
  throw new InvalidRequestError(`${what} is not valid: ${sentence(answer.issues)}`, {
    code: 'invalid_request',
    details,
  });
}

/** The value as the schema returns it, defaults applied. */
async function parsed(schema: AnySchema, value: unknown, what: string): Promise<unknown> {
  const answer = await schema['~standard'].validate(value);
  if (answer.issues !== undefined) throw new MismatchError(`${what} is not valid: ${sentence(answer.issues)}`);
  return answer.value as unknown;
}

const sentence = (issues: readonly SchemaIssue[]): string =>
  issues.map((issue) => [pathOf(issue), issue.message].filter((part) => part !== '').join(': ')).join('; ');

/** What becomes an object in JSON. A Map, a Set or a Date has no fields, and would be stored as `{}` or as text. */
const isRecord = (value: unknown): value is JsonObject =>
  isObject(value) && !(value instanceof Map || value instanceof Set || value instanceof Date);

const kindOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (value instanceof Map || value instanceof Set || value instanceof Date) return `a ${value.constructor.name}`;
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
};
