import {
  DEFAULT_JOB_CONFIG,
  type JobConfig,
  type JobConfigInput,
  type LimitInput,
  type PartialJobConfig,
  type RateInput,
  type ScheduleJobConfig,
} from '@millrace/contract';
import { invalidField } from './errors.js';
import { parseInstant } from './instant.js';

/** Whose policy it is: not every field makes sense for all of them. */
export type ConfigOwner = 'job' | 'step' | 'schedule';

/**
 * Fills in a policy whose bounds have been checked. Null means that nothing differs from the defaults, whether the
 * caller omitted the fields or stated the defaults: most jobs store no configuration at all.
 */
export function resolveJobConfig(
  given: JobConfigInput | PartialJobConfig | null | undefined,
  path = 'config',
  owner: ConfigOwner = 'job',
): JobConfig | null {
  if (given === null || given === undefined) return null;
  refuseMisplaced(given, path, owner);
  const defaults = DEFAULT_JOB_CONFIG;
  const limits = limitsOf(given, path);
  const config: JobConfig = {
    priority: positiveZero(given.priority ?? defaults.priority),
    max_retries: positiveZero(given.max_retries ?? defaults.max_retries),
    timeout_secs: timeoutOf(given, path) ?? defaults.timeout_secs,
    retry_backoff: given.retry_backoff ?? defaults.retry_backoff,
    retry_delay_secs: positiveZero(given.retry_delay_secs ?? defaults.retry_delay_secs),
    retry_max_delay_secs: positiveZero(given.retry_max_delay_secs ?? defaults.retry_max_delay_secs),
    jitter_factor: positiveZero(given.jitter_factor ?? defaults.jitter_factor),
    ...(limits && { limits }),
    ...expiryOf(given, path),
    ...uniqueOf(given, path),
  };
  return isDefault(config) ? null : config;
}

/** What the caller gave and nothing else, under the stored names: what a definition shows. */
export function givenJobConfig(given: ScheduleJobConfig | null | undefined): ScheduleJobConfig {
  const { timeout, timeout_secs: timeoutSecs, ...rest } = given ?? {};
  const stored: ScheduleJobConfig = { ...rest, timeout_secs: timeout ?? timeoutSecs ?? null };
  const fields = [...FIELDS, 'limits' as const, 'expires_secs' as const].map(
    (field) => [field, stored[field]] as const,
  );
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined && value !== null));
}

/** Create requests say `timeout`, stored jobs `timeout_secs`: it is one field, and two values for it are a mistake. */
function timeoutOf(given: PartialJobConfig, path: string): number | null {
  const timeout = given.timeout ?? given.timeout_secs ?? null;
  if (timeout !== (given.timeout_secs ?? timeout)) {
    throw invalidField(`${path}.timeout_secs`, 'must equal timeout if both are given');
  }
  return timeout;
}

/** Nothing but what is known of a limit, so that what is stored is what holds. */
function limitsOf({ limits }: PartialJobConfig, path: string): LimitInput[] | null {
  if (limits === null || limits === undefined) return null;
  const seen = new Set<string>();
  for (const [n, { key, running, rate }] of limits.entries()) {
    if (seen.has(key)) throw invalidField(`${path}.limits[${n}].key`, 'must differ from that of the other limit');
    seen.add(key);
    if (typeof running !== 'number' && !isGiven(rate))
      throw invalidField(`${path}.limits[${n}].running`, 'must be given unless rate is');
    checkRate(rate, `${path}.limits[${n}].rate`);
  }
  return limits.map(({ key, running, rate }) => ({
    key,
    ...(typeof running === 'number' && { running }),
    ...(isGiven(rate) && { rate: rateOf(rate) }),
  }));
}

export function checkRate(rate: RateInput | null | undefined, path: string): void {
  if (isGiven(rate) && (rate.burst ?? 1) > rate.count)
    throw invalidField(`${path}.burst`, 'must not be greater than count');
}

const isGiven = (rate: RateInput | null | undefined): rate is RateInput => rate !== null && rate !== undefined;

const rateOf = ({ count, per_secs, burst }: RateInput): RateInput => ({
  count,
  per_secs,
  ...(typeof burst === 'number' && { burst }),
});

/** At most one of the two fields. */
function expiryOf(
  given: JobConfigInput | PartialJobConfig,
  path: string,
): Pick<JobConfig, 'expires_secs' | 'expires_at'> {
  const { expires_secs: secs, expires_at: at } = given as JobConfigInput;
  if (typeof at !== 'string') return typeof secs === 'number' ? { expires_secs: secs } : {};
  if (typeof secs === 'number')
    throw invalidField(`${path}.expires_at`, 'must not be given together with expires_secs');
  return { expires_at: parseInstant(at)! };
}

/** Fields that exist, but not there. Unknown ones are ignored with a warning, but whoever asks for these needs them. */
const MISPLACED: Readonly<Record<ConfigOwner, readonly string[]>> = {
  job: [],
  step: ['expires_secs', 'expires_at', 'unique'],
  schedule: ['expires_at', 'unique'],
};

function refuseMisplaced(given: object, path: string, owner: ConfigOwner): void {
  const field = MISPLACED[owner].find((name) => ((given as Record<string, unknown>)[name] ?? null) !== null);
  if (field !== undefined) throw invalidField(`${path}.${field}`, `must not be given in a ${owner}`);
}

/** Nothing but what is known, and without what was left out. */
function uniqueOf(given: JobConfigInput | PartialJobConfig, path: string): Pick<JobConfig, 'unique'> {
  const { unique } = given as JobConfigInput;
  if (unique === null || unique === undefined) return {};
  const { key, on_conflict: onConflict, max_wait_secs: maxWait } = unique;
  if (onConflict === 'replace' && unique.while !== 'waiting')
    throw invalidField(`${path}.unique.on_conflict`, 'replace needs while: "waiting"');
  if (typeof maxWait === 'number' && onConflict !== 'replace')
    throw invalidField(`${path}.unique.max_wait_secs`, 'needs on_conflict: "replace"');
  return {
    unique: {
      key,
      while: unique.while,
      ...(typeof onConflict === 'string' && { on_conflict: onConflict }),
      ...(typeof maxWait === 'number' && { max_wait_secs: maxWait }),
    },
  };
}

/**
 * What a copy of a job keeps of its policy: an instant is of no use to it, and it is not the one of its key
 * (`millrace.copied_config` says the same).
 */
export function copiedConfig({ expires_at: _, unique: __, ...rest }: JobConfig): JobConfig {
  return rest;
}

/** JSON has a negative zero, which passes every bound and would be a surprise in SQL text. */
const positiveZero = (value: number): number => value + 0;

const FIELDS = Object.keys(DEFAULT_JOB_CONFIG) as readonly (keyof typeof DEFAULT_JOB_CONFIG)[];

/** Nothing differs from the defaults, and nothing is there that they do not have. */
const isDefault = (config: JobConfig): boolean =>
  Object.keys(config).length === FIELDS.length && FIELDS.every((field) => config[field] === DEFAULT_JOB_CONFIG[field]);
