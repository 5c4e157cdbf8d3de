import type { Random } from '@millrace/tools-shared';
import type { Json } from './json.js';
import type { Schema, SchemaChecker } from './schema.js';
import { plainObject } from './values.js';

/** Values that fit the schemas of the API description. */

export const TASKS = ['echo', 'echo', 'fail', 'log', 'sleep', 'remote-task', 'another task'];
export const QUEUES = ['default', 'fuzz-a', 'fuzz-b', 'weird/queue %'];
export const ZONES = ['UTC', 'Europe/Berlin', 'america/new_york', 'Asia/Kathmandu'];
export const EXPRESSIONS = ['0 3 * * *', '*/5 * * * *', '0 0 1 1 *', '@daily', '30 0 0 * * 1', '0 0 0 1 1 * 2099'];

export interface Making {
  readonly random: Random;
  readonly mark: string;
  /** The name of the field: some have a meaning that the schema does not tell. */
  readonly name: string;
}

/** A value that fits a schema. Each optional member is included about half of the time. */
export function generate(checker: SchemaChecker, schema: Schema, making: Making): Json {
  const { random, mark } = making;
  if (typeof schema.$ref === 'string') return generate(checker, checker.resolve(schema.$ref), making);
  const known = wellKnown(making);
  if (known !== undefined) return known;
  if (Array.isArray(schema.enum)) return random.pick(schema.enum as Json[]);
  if (Array.isArray(schema.anyOf)) return generate(checker, random.pick(schema.anyOf as Schema[]), making);
  const [type] = [schema.type].flat();
  switch (type) {
    case 'object':
      return schema.properties === undefined ? plainObject(random, mark) : objectOf(checker, schema, making);
    case 'array':
      return Array.from({ length: random.integer(1, 3) }, () =>
        generate(checker, (schema.items ?? {}) as Schema, making),
      );
    case 'integer':
      return random.integer(Number(schema.minimum ?? 0), Math.min(Number(schema.maximum ?? 60), 1000));
    case 'number':
      return random.next();
    case 'boolean':
      return random.chance(0.5);
    case 'string':
      if (schema.format === 'date-time') return random.pick(['2026-01-31T09:00:00Z', '2099-12-31T23:59:59.5+05:30']);
      return `${mark} ${random.word()}`;
    default:
      return null;
  }
}

function wellKnown({ random, name }: Making): Json | undefined {
  switch (name) {
    case 'task_name':
      return random.pick(TASKS);
    case 'queue':
      return random.pick(QUEUES);
    case 'cron_expr':
      return random.pick(EXPRESSIONS);
    case 'timezone':
      return random.pick(ZONES);
    case 'lease_token':
      return random.uuid();
    case 'idempotency_key':
      return `key-${random.below(200)}`;
    case 'limits':
      return [{ key: `limit-${random.below(5)}`, running: random.integer(1, 10) }];
    case 'rate':
      return { count: random.integer(500, 1_000), per_secs: random.integer(1, 5), burst: random.integer(1, 500) };
    case 'unique':
      return { key: `unique-${random.below(5)}`, while: random.pick(['waiting', 'unfinished']) };
    case 'expires_secs':
      // After any delay.
      return random.integer(2_000, 3_000);
    case 'expires_at':
      return '9999-12-31T00:00:00Z';
    case 'worker_id':
      // Of nobody's mark: it is shown on the jobs of every tenant.
      return `worker-${random.below(5)}`;
    case 'tasks':
      // Those that a worker knows: they are shown to every tenant, too.
      return Array.from({ length: random.integer(1, 3) }, () => random.pick(TASKS));
    default:
      return undefined;
  }
}

function objectOf(checker: SchemaChecker, schema: Schema, making: Making): Json {
  const required = (schema.required ?? []) as string[];
  const members = Object.entries(schema.properties as Record<string, Schema>)
    .filter(([name]) => required.includes(name) || making.random.chance(0.5))
    .map(([name, inner]) => [name, generate(checker, inner, { ...making, name })] as const);
  const made = Object.fromEntries(members);
  // Two ways to say one thing, of which a request takes one.
  if ('expires_at' in made && 'expires_secs' in made) return { ...made, expires_at: null };
  return 'run_at' in made && 'delay_secs' in made ? { ...made, run_at: null } : made;
}
