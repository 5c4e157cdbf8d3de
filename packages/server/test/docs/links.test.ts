import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { readRepositoryFile, repositoryFile } from './generated.js';

const documents = [
  ...readdirSync(repositoryFile('.')).filter((name) => name.endsWith('.md')),
  ...readdirSync(repositoryFile('docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

/** As GitHub makes them: lower case, spaces to hyphens, punctuation gone. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

const anchorsIn = (text: string): string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));

function brokenLinks(document: string): string[] {
  const text = readRepositoryFile(document).replaceAll(/^```[^]*?^```$/gm, '');
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? document : join(dirname(document), path);
    if (!existsSync(repositoryFile(file))) return true;
    return anchor !== undefined && !anchorsIn(readRepositoryFile(file)).includes(anchor);
  });
}

it.each(documents)('%s has no broken links', (document) => {
  expect(brokenLinks(document)).toEqual([]);
});
