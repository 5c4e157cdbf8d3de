import type { Random } from '@millrace/tools-shared';

/** How an attempt goes, decided when it starts. */
export type Fate =
  | { readonly kind: 'completed'; readonly result: string }
  | { readonly kind: 'failed'; readonly error: string; readonly name: string; readonly retryable: boolean };

export interface Task {
  readonly name: string;
  readonly queue: string;
  /** How common it is among the jobs. */
  readonly weight: number;
  /** The payload as JSON text, because numbers must arrive as written. */
  readonly payload: (random: Random) => string;
  /** Members of `config` besides the queue. */
  readonly config?: Readonly<Record<string, number | string>>;
  /** How long an attempt takes, in milliseconds. */
  readonly takes: readonly [number, number];
  readonly fate: (random: Random, outage: boolean) => Fate;
  /** Reports progress while it runs. */
  readonly progress?: boolean;
}

const NAMES = ['ada', 'grace', 'edsger', 'barbara', 'donald', 'radia', 'ken', 'margaret', 'dennis', 'frances'] as const;

const completed = (result = '{}'): Fate => ({ kind: 'completed', result });
const failed = (error: string, name: string, retryable = true): Fate => ({ kind: 'failed', error, name, retryable });

const hex = (random: Random, length: number): string =>
  Array.from({ length }, () => random.below(16).toString(16)).join('');

const HOOKS = ['billing', 'crm', 'warehouse'] as const;
const address = (random: Random): string => `${random.pick(NAMES)}.${random.word(4)}@example.com`;

const mail = (name: string, weight: number, template: string): Task => ({
  name,
  queue: 'mail',
  weight,
  payload: (random) =>
    `{"to": "${address(random)}", "template": "${template}", "locale": "${random.pick(['en', 'de', 'fr', 'pt-BR'])}", ` +
    `"user_id": ${9_007_199_254_740_993n + BigInt(random.below(1000))}}`,
  config: { max_retries: 2, retry_delay_secs: 8, retry_backoff: 'linear' },
  takes: [60, 500],
  fate: (random, outage) =>
    outage && random.chance(0.85)
      ? failed('smtp: connection refused to 10.0.3.12:25', 'SmtpError')
      : random.chance(0.03)
        ? failed(`smtp: 451 mailbox ${random.below(9000)} is busy, try again`, 'SmtpError')
        : completed(`{"message_id": "${hex(random, 12)}"}`),
});

/** What remote workers run. Steps of workflows use the same tasks. */
export const TASKS: readonly Task[] = [
  mail('send_welcome', 20, 'welcome'),
  mail('send_receipt', 24, 'receipt'),
  mail('send_digest', 10, 'digest'),
  {
    name: 'charge_card',
    queue: 'payments',
    weight: 16,
    // 1.10 and an account above 2^53: what a careless client would send as 1.1 and another account.
    payload: (random) =>
      `{"account": 9007199254740993, "amount": ${random.integer(1, 240)}.${random.integer(1, 9)}0, ` +
      `"currency": "EUR", "charge": "ch_${hex(random, 10)}"}`,
    config: { priority: 5, max_retries: 3, retry_delay_secs: 5 },
    takes: [150, 900],
    fate: (random) =>
      random.chance(0.06)
        ? failed(
            `card declined: ${random.pick(['insufficient_funds', 'expired_card'])} (ch_${hex(random, 10)})`,
            'CardDeclined',
            false,
          )
        : random.chance(0.05)
          ? failed('gateway timed out after 5000 ms', 'GatewayTimeout')
          : completed('{"status": "captured", "fee": 0.30}'),
  },
  {
    name: 'resize_image',
    queue: 'images',
    weight: 9,
    payload: (random) =>
      `{"source": "s3://uploads/${hex(random, 8)}.jpg", "widths": [320, 640, 1280], "quality": 0.80}`,
    config: { max_retries: 1, retry_delay_secs: 4 },
    takes: [1500, 7000],
    progress: true,
    fate: (random) =>
      random.chance(0.08)
        ? failed(`decode: unexpected end of file at byte ${random.below(900_000)}`, 'DecodeError', false)
        : completed(`{"files": 3, "bytes": ${random.integer(20_000, 900_000)}}`),
  },
  {
    name: 'transcode_video',
    queue: 'images',
    weight: 1,
    payload: (random) => `{"source": "s3://uploads/${hex(random, 8)}.mov", "profile": "h264-main"}`,
    config: { priority: -5, timeout_secs: 600 },
    takes: [12_000, 30_000],
    progress: true,
    fate: () => completed('{"seconds": 31.40}'),
  },
  {
    name: 'deliver_webhook',
    queue: 'webhooks',
    weight: 18,
    payload: (random) =>
      `{"url": "https://hooks.example.com/${random.pick(HOOKS)}", "event": "invoice.paid", "attempt_key": "${random.uuid()}"}`,
    config: { max_retries: 4, retry_delay_secs: 6, retry_backoff: 'exponential' },
    takes: [80, 1200],
    fate: (random) =>
      random.chance(0.16)
        ? failed(`POST https://hooks.example.com/${random.pick(HOOKS)} answered 502`, 'HttpError')
        : completed('{"status": 200}'),
  },
  {
    name: 'build_report',
    queue: 'reports',
    weight: 1,
    payload: (random) => `{"report": "revenue", "month": "2026-${String(random.integer(1, 12)).padStart(2, '0')}"}`,
    config: { max_retries: 1, retry_delay_secs: 15, timeout_secs: 600 },
    takes: [6000, 25_000],
    progress: true,
    fate: (random) =>
      random.chance(0.2)
        ? failed('division by zero in column "margin"', 'QueryError')
        : completed(`{"rows": ${random.integer(200, 90_000)}}`),
  },
];

/** Queues that remote workers lease from. `search` is not among them: nobody works on it, and the pages say so. */
export const WORKED_QUEUES = ['mail', 'payments', 'images', 'webhooks', 'reports'] as const;

export const taskOf = (name: string): Task | undefined => TASKS.find((task) => task.name === name);

/** A job of some task, by weight, as the body of a create. */
export function someJob(random: Random): string {
  const total = TASKS.reduce((sum, { weight }) => sum + weight, 0);
  let ticket = random.below(total);
  const task = TASKS.find(({ weight }) => (ticket -= weight) < 0) ?? TASKS[0];
  if (task === undefined) throw new Error('there are no tasks');
  const config = JSON.stringify({ queue: task.queue, ...task.config });
  // A few wait for their time.
  const later = random.chance(0.04) ? `, "delay_secs": ${random.integer(30, 900)}` : '';
  const source = random.pick(['checkout', 'signup', 'backoffice', 'nightly']);
  return (
    `{"task_name": "${task.name}", "payload": ${task.payload(random)}, "config": ${config}, ` +
    `"metadata": {"source": "${source}"}${later}}`
  );
}

/** Now and then: what goes wrong in ways that no worker can help. */
export function oddJob(random: Random): string {
  return random.pick([
    '{"task_name": "reindex", "payload": {"index": "products"}, "config": {"queue": "search"}}',
    '{"task_name": "import_legacy_csv", "payload": {"file": "customers-2019.csv"}, "config": {"max_retries": 1}}',
    '{"task_name": "fail", "payload": {"message": "invalid state transition: paid -> open", "permanent": true}}',
    '{"task_name": "sleep", "payload": {"seconds": 4}}',
    '{"task_name": "echo", "payload": {"exact": 1.10, "large": 9007199254740993, "tiny": 1e-7}}',
  ]);
}
