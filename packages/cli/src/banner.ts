import { VERSION, type Config, type RunningServer } from '@millrace/server';

/** What a developer wants to know at the start: where everything is, and a call that works. */
export function banner(config: Config, { apiUrl, metricsUrl }: RunningServer): string {
  const places = [
    ...(apiUrl === null
      ? []
      : [
          ['API', `${apiUrl}/api/v1`],
          ['Docs', `${apiUrl}/docs`],
        ]),
    ['Metrics', `${metricsUrl}/metrics`],
    ...(config.database.kind === 'embedded' ? [['Data', config.database.dir]] : []),
  ];
  const lines = ['', `  Millrace ${VERSION} is ready, in development mode`, ''];
  for (const [name = '', place = ''] of places) lines.push(`    ${name.padEnd(9)}${place}`);
  if (apiUrl !== null) lines.push('', '  Try it:', '', `    ${exampleCall(apiUrl)}`);
  return [...lines, ''].join('\n');
}

function exampleCall(apiUrl: string): string {
  const body = JSON.stringify({ task_name: 'echo', payload: { hello: 'world' } });
  return `curl -s ${apiUrl}/api/v1/jobs -H 'Authorization: Bearer dev' -H 'Content-Type: application/json' -d '${body}'`;
}
