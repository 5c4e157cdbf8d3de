import { DEFAULT_JOB_CONFIG, type JobConfig, type PartialJobConfig } from '@millrace/contract';
import { invalidField } from './errors.js';

/**
 * Fills in a policy whose bounds were checked already. Null means that nothing differs from the defaults, whether the
 * caller left the fields out or spelled the defaults: the common job stores no configuration at all.
 */
export function resolveJobConfig(given: PartialJobConfig | null | undefined, path = 'config'): JobConfig | null {
  if (given === null || given === undefined) return null;
  const defaults = DEFAULT_JOB_CONFIG;
  const config: JobConfig = {
    priority: positiveZero(given.priority ?? defaults.priority),
    max_retries: positiveZero(given.max_retries ?? defaults.max_retries),
    timeout_secs: timeoutOf(given, path) ?? defaults.timeout_secs,
    retry_backoff: given.retry_backoff ?? defaults.retry_backoff,
    retry_delay_secs: positiveZero(given.retry_delay_secs ?? defaults.retry_delay_secs),
    retry_max_delay_secs: positiveZero(given.retry_max_delay_secs ?? defaults.retry_max_delay_secs),
    jitter_factor: positiveZero(given.jitter_factor ?? defaults.jitter_factor),
  };
  return isDefault(config) ? null : config;
}

/** What was given and nothing else, under the names that are stored: what a definition shows of itself. */
export function givenJobConfig(given: PartialJobConfig | null | undefined): PartialJobConfig {
  const { timeout, timeout_secs: timeoutSecs, ...rest } = given ?? {};
  const fields: Record<keyof JobConfig, unknown> = {
    priority: rest.priority,
    max_retries: rest.max_retries,
    timeout_secs: timeout ?? timeoutSecs,
    retry_backoff: rest.retry_backoff,
    retry_delay_secs: rest.retry_delay_secs,
    retry_max_delay_secs: rest.retry_max_delay_secs,
    jitter_factor: rest.jitter_factor,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}

/** `timeout` in create requests, `timeout_secs` in what is stored: one field, and two values for it are a mistake. */
function timeoutOf(given: PartialJobConfig, path: string): number | null {
  const timeout = given.timeout ?? given.timeout_secs ?? null;
  if (timeout !== (given.timeout_secs ?? timeout)) {
    const message = 'must equal timeout when both are given';
    throw invalidField(`${path}.timeout_secs`, message);
  }
  return timeout;
}

/** JSON has a negative zero; it passes every bound and would be a surprise in SQL text. */
const positiveZero = (value: number): number => value + 0;

const isDefault = (config: JobConfig): boolean =>
  config.priority === DEFAULT_JOB_CONFIG.priority &&
  config.max_retries === DEFAULT_JOB_CONFIG.max_retries &&
  config.timeout_secs === DEFAULT_JOB_CONFIG.timeout_secs &&
  config.retry_backoff === DEFAULT_JOB_CONFIG.retry_backoff &&
  config.retry_delay_secs === DEFAULT_JOB_CONFIG.retry_delay_secs &&
  config.retry_max_delay_secs === DEFAULT_JOB_CONFIG.retry_max_delay_secs &&
  config.jitter_factor === DEFAULT_JOB_CONFIG.jitter_factor;
