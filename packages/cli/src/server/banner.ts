import { DEV_RETRY_DELAY_SECS, VERSION, type Config, type Logger, type RunningServer } from '@millrace/server';
import type { Io } from '../terminal/io.js';

export type Addresses = Pick<RunningServer, 'apiUrl' | 'metricsUrl'>;

/** Says where the service listens: in the log, and to a developer in more words. */
export function announce(config: Config, addresses: Addresses, logger: Logger, io: Io): void {
  const { apiUrl: api, metricsUrl: metrics } = addresses;
  logger.info({ mode: config.mode, api, metrics }, 'listening');
  if (config.dev && config.logLevel !== 'silent') void io.print(banner(config, addresses));
}

/** What a developer wants to know at the start: where everything is, and a request that works. */
function banner(config: Config, { apiUrl, metricsUrl }: Addresses): string {
  const addresses = [
    ...(apiUrl === null
      ? []
      : [
          ['Dashboard', `${apiUrl}/ui/`],
          ['API', `${apiUrl}/api/v1`],
          ['Docs', `${apiUrl}/docs`],
        ]),
    ['Metrics', `${metricsUrl}/metrics`],
    ...(config.database.kind === 'embedded' ? [['Data', config.database.dir]] : []),
  ];
  const lines = ['', `  Millrace ${VERSION} is ready, in development mode`, ''];
  for (const [name = '', address = ''] of addresses) lines.push(`    ${name.padEnd(11)}${address}`);
  if (apiUrl !== null) lines.push('', '  Try it:', '', `    ${exampleCall(apiUrl)}`);
  lines.push('', `  Retries begin after ${DEV_RETRY_DELAY_SECS} s here, unless a job says otherwise.`);
  if (apiUrl !== null && config.corsOrigins === null) lines.push('', ...OPEN_TO_PAGES);
  return [...lines, ''].join('\n');
}

const OPEN_TO_PAGES = [
  '  Any page open in your browser can reach this server, with any token: it can read, create and cancel jobs.',
  '  --cors-origins none ends that.',
];

function exampleCall(apiUrl: string): string {
  const body = JSON.stringify({ task_name: 'echo', payload: { hello: 'world' } });
  const headers = "-H 'Authorization: Bearer dev' -H 'Content-Type: application/json'";
  return `curl -s ${apiUrl}/api/v1/jobs ${headers} -d '${body}'`;
}
