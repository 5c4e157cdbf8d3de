import { DEFAULT_JOB_CONFIG, type JobConfig, type LimitInput, type PartialJobConfig } from '@millrace/contract';
import { invalidField } from './errors.js';

/**
 * Fills in a policy whose bounds have been checked. Null means that nothing differs from the defaults, whether the
 * caller omitted the fields or stated the defaults: most jobs store no configuration at all.
 */
export function resolveJobConfig(given: PartialJobConfig | null | undefined, path = 'config'): JobConfig | null {
  if (given === null || given === undefined) return null;
  refuseUnbuilt(given, path);
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
  };
  return isDefault(config) && limits === null ? null : config;
}

/** What the caller gave and nothing else, under the stored names: what a definition shows. */
export function givenJobConfig(given: PartialJobConfig | null | undefined): PartialJobConfig {
  const { timeout, timeout_secs: timeoutSecs, ...rest } = given ?? {};
  const stored: PartialJobConfig = { ...rest, timeout_secs: timeout ?? timeoutSecs ?? null };
  const fields = [...FIELDS, 'limits' as const].map((field) => [field, stored[field]] as const);
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
  for (const [n, limit] of limits.entries()) {
    if ('rate' in limit) throw invalidField(`${path}.limits[${n}].rate`, NOT_BUILT);
    if (seen.has(limit.key)) throw invalidField(`${path}.limits[${n}].key`, 'must differ from that of the other limit');
    seen.add(limit.key);
  }
  return limits.map(({ key, running }) => ({ key, running }));
}

/**
 * What belongs to limits and does not exist yet. Other unknown fields are ignored with a warning, but whoever asks for
 * one of these relies on it.
 */
const UNBUILT = ['unique', 'expires_secs', 'expires_at'];
const NOT_BUILT = 'is not supported by this version of the server';

function refuseUnbuilt(given: object, path: string): void {
  const field = UNBUILT.find((name) => name in given);
  if (field !== undefined) throw invalidField(`${path}.${field}`, NOT_BUILT);
}

/** JSON has a negative zero, which passes every bound and would be a surprise in SQL text. */
const positiveZero = (value: number): number => value + 0;

const FIELDS = Object.keys(DEFAULT_JOB_CONFIG) as readonly (keyof typeof DEFAULT_JOB_CONFIG)[];

const isDefault = (config: JobConfig): boolean => FIELDS.every((field) => config[field] === DEFAULT_JOB_CONFIG[field]);
