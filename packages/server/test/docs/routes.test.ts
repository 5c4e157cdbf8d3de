import { expect, it } from 'vitest';
import { operations } from '../http/openapi/document.js';
import { readRepositoryFile } from './generated.js';

/** Where a reader looks for a route: by example, or in the text. */
const DOCUMENTS = ['http-api', 'worker-protocol', 'workflows', 'cron', 'operations'];

/** `$base/jobs/$id/why`, `/api/v1/jobs/{id}/why` and `POST /jobs/{job_id}/why` are all the same path. */
const normalised = (text: string): string =>
  text
    .replaceAll(/\$base\/|\/api\/v1\//g, '/')
    .replaceAll(/\$\w+|\{\w+\}/g, '{}')
    .replaceAll(/(?<=jobs\/)[0-9a-f-]{36}/g, '{}')
    .replaceAll(/(?<=queues\/)[a-z]+(?=\/lease)/g, '{}');

const documents = normalised(DOCUMENTS.map((name) => readRepositoryFile(`docs/${name}.md`)).join('\n'));

it.each(operations.map(({ path, method }) => [method.toUpperCase(), path] as const))(
  'the documents mention %s %s',
  (_method, path) => {
    const pattern = normalised(path).replaceAll(/[{}]/g, '\\$&');
    expect(new RegExp(`${pattern}(?![\\w/{-])`).test(documents)).toBe(true);
  },
);
