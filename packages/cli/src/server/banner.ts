import { VERSION, type Config, type RunningServer } from '@millrace/server';

/** What a developer wants to know at the start: where everything is, and a request that works. */
export function banner(config: Config, { apiUrl, metricsUrl }: RunningServer): string {
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
  return [...lines, ''].join('\n');
}

function exampleCall(apiUrl: string): string {
  const body = JSON.stringify({ task_name: 'echo', payload: { hello: 'world' } });
  const headers = "-H 'Authorization: Bearer dev' -H 'Content-Type: application/json'";
  return `curl -s ${apiUrl}/api/v1/jobs ${headers} -d '${body}'`;
}
