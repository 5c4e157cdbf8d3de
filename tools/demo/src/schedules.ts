interface Schedule {
  readonly name: string;
  readonly cron_expr: string;
  readonly timezone?: string;
  readonly task_name: string;
  readonly queue?: string;
  readonly payload?: object;
}

/** Some fire while somebody is watching, the others are what a real service has. */
export const SCHEDULES: readonly Schedule[] = [
  { name: 'heartbeat', cron_expr: '*/20 * * * * *', task_name: 'echo', payload: { beat: true } },
  { name: 'sync-inventory', cron_expr: '* * * * *', task_name: 'deliver_webhook', queue: 'webhooks' },
  { name: 'flush-digests', cron_expr: '*/5 * * * *', task_name: 'send_digest', queue: 'mail' },
  { name: 'nightly-report', cron_expr: '0 3 * * *', task_name: 'build_report', queue: 'reports' },
  {
    name: 'weekday-standup',
    cron_expr: '30 9 * * 1-5',
    timezone: 'Europe/Berlin',
    task_name: 'send_digest',
    queue: 'mail',
  },
  {
    name: 'month-end',
    cron_expr: '0 0 1 * *',
    timezone: 'America/New_York',
    task_name: 'build_report',
    queue: 'reports',
  },
  { name: 'old-import', cron_expr: '0 * * * *', task_name: 'import_legacy_csv' },
];

/** Switched off: a list with nothing paused in it shows only half of itself. */
export const PAUSED_SCHEDULE = 'old-import';
